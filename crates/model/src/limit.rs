//! Limits: a value or infinity, never a magic number.

use core::fmt;

/// A limit. `Infinity` is greater than every value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit<T> {
    /// A finite limit.
    Value(T),
    /// No limit, written `INFINITY`.
    Infinity,
}

impl<T> Limit<T> {
    /// The finite value, `None` for infinity.
    pub fn finite(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Infinity => None,
        }
    }

    /// Whether there is no limit.
    pub const fn is_infinite(&self) -> bool {
        matches!(self, Self::Infinity)
    }

    /// Applies `change` to a finite value and leaves infinity alone.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Limit<U> {
        match self {
            Self::Value(value) => Limit::Value(change(value)),
            Self::Infinity => Limit::Infinity,
        }
    }
}

impl<T> From<T> for Limit<T> {
    fn from(value: T) -> Self {
        Self::Value(value)
    }
}

impl<T: fmt::Display> fmt::Display for Limit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Infinity => f.write_str("INFINITY"),
        }
    }
}

/// Whole seconds. Displays as `h:mm:ss`, which every Grid Engine program reads back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Seconds(pub u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{:02}:{:02}", self.0 / 3600, self.0 / 60 % 60, self.0 % 60)
    }
}

/// Bytes. Displays as a plain decimal number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A number of slots, 0 to 9999999 (queue_conf(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SlotCount(pub u32);

impl fmt::Display for SlotCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A limit per slot becomes a limit per job by multiplying; what does not fit is infinity, never a small number.
macro_rules! times_slots {
    ($unit:ident) => {
        impl Limit<$unit> {
            /// The limit for `slots` slots. Saturates to infinity.
            #[must_use]
            pub fn times(self, slots: u32) -> Self {
                match self {
                    Self::Value($unit(value)) => {
                        value.checked_mul(u64::from(slots)).map_or(Self::Infinity, |v| Self::Value($unit(v)))
                    }
                    Self::Infinity => Self::Infinity,
                }
            }
        }
    };
}
times_slots!(Seconds);
times_slots!(Bytes);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinity_is_the_greatest_limit() {
        assert!(Limit::Infinity > Limit::Value(Seconds(u64::MAX)));
        assert!(Limit::Value(Bytes(1)) < Limit::Value(Bytes(2)));
    }

    #[test]
    fn limits_display_in_the_words_of_grid_engine() {
        assert_eq!(Limit::Value(Seconds(3661)).to_string(), "1:01:01");
        assert_eq!(Limit::<Bytes>::Infinity.to_string(), "INFINITY");
        assert_eq!(Limit::Value(Bytes(15_360)).to_string(), "15360");
    }

    #[test]
    fn multiplying_by_slots_never_wraps() {
        assert_eq!(Limit::Value(Bytes(3)).times(4), Limit::Value(Bytes(12)));
        assert_eq!(Limit::Value(Bytes(u64::MAX)).times(2), Limit::Infinity);
        assert_eq!(Limit::<Seconds>::Infinity.times(0), Limit::Infinity);
    }
}

//! From text to a magnitude, with every property of the spelling that a caller may want to refuse.

/// A number as written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Magnitude {
    /// The word `infinity`.
    Infinity,
    /// C's `nan` or `inf`.
    NotANumber,
    /// A magnitude, fractions cut off, and whether it lies below zero.
    Finite { value: u64, below_zero: bool },
    /// A magnitude above 2^64-1.
    TooGreat,
}

/// What [`read`] saw.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) magnitude: Magnitude,
    /// The value before fractions are cut off.
    pub(super) double: f64,
    pub(super) is_time: bool,
    pub(super) is_bool: bool,
    pub(super) is_octal: bool,
    pub(super) is_signed: bool,
    pub(super) is_truncated: bool,
    pub(super) is_cut_short: bool,
}

impl Reading {
    fn new(magnitude: Magnitude, double: f64) -> Self {
        Self {
            magnitude,
            double,
            is_time: false,
            is_bool: false,
            is_octal: false,
            is_signed: false,
            is_truncated: false,
            is_cut_short: false,
        }
    }

    fn from_double(double: f64) -> Self {
        // A number that overflows to an infinite double is a number all the same.
        let magnitude = if double.is_nan() {
            Magnitude::NotANumber
        } else {
            match truncated(double.abs()) {
                Some(value) => Magnitude::Finite { value, below_zero: double < 0.0 },
                None => Magnitude::TooGreat,
            }
        };
        Self::new(magnitude, double)
    }
}

/// Reads any specifier.
///
/// # Errors
/// The byte offset where the text stops making sense.
pub(super) fn read(text: &str) -> Result<Reading, usize> {
    let trimmed = text.trim_ascii();
    let start = text.len() - text.trim_ascii_start().len();
    let is = |word: &str| trimmed.eq_ignore_ascii_case(word);
    let result = if is("true") || is("false") {
        let mut reading = Reading::from_double(if is("true") { 1.0 } else { 0.0 });
        reading.is_bool = true;
        Ok(reading)
    } else if is("infinity") {
        Ok(Reading::new(Magnitude::Infinity, f64::MAX))
    } else if trimmed.contains(':') {
        read_time(trimmed)
    } else if trimmed.starts_with('0') && !trimmed.contains('.') {
        read_integer(trimmed)
    } else {
        read_decimal(trimmed)
    };
    result.map_err(|offset| start + offset)
}

/// Reads a whole number that fits into 32 bits: C's `strtod` to the very end of the text.
///
/// # Errors
/// As [`read`].
pub(super) fn read_whole(text: &str) -> Result<u32, usize> {
    let trimmed = text.trim_ascii();
    let scan = scan_float(trimmed).ok_or(0_usize)?;
    if scan.len != trimmed.len() {
        return Err(scan.len);
    }
    if scan.is_word || scan.is_signed || scan.value.fract() != 0.0 {
        return Err(0);
    }
    truncated(scan.value).and_then(|value| u32::try_from(value).ok()).ok_or(0)
}

/// `H:M:S` with exactly two colons; each part is a floating number or empty.
fn read_time(text: &str) -> Result<Reading, usize> {
    // Stock holds hours and minutes to the range of an int; seconds it does not.
    const MAX_PART: f64 = 2_147_483_647.0;
    let mut total = 0.0;
    let mut is_signed = false;
    let mut is_word = false;
    let mut offset = 0;
    let mut parts = 0;
    for (part, weight) in text.split(':').zip([3600.0, 60.0, 1.0, 0.0]) {
        parts += 1;
        if parts > 3 {
            return Err(offset);
        }
        if !part.is_empty() {
            let scan = scan_float(part).ok_or(offset)?;
            if scan.len != part.len() {
                return Err(offset + scan.len);
            }
            if parts < 3 && scan.value > MAX_PART {
                return Err(offset);
            }
            is_signed |= scan.is_signed;
            is_word |= scan.is_word;
            total += scan.value * weight;
        }
        offset += part.len() + 1;
    }
    if parts < 3 {
        return Err(text.len());
    }
    let mut reading = Reading::from_double(total);
    reading.is_time = true;
    reading.is_signed = is_signed;
    if is_word {
        reading.magnitude = Magnitude::NotANumber;
    }
    Ok(reading)
}

/// Text that starts with `0` and has no point: C's `strtol` with base 0, cut to 32 bits.
fn read_integer(text: &str) -> Result<Reading, usize> {
    let (radix, start) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, 2),
        _ => (8, 0),
    };
    let digits = text.get(start..).unwrap_or("");
    let len = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    if len == 0 {
        return Err(start);
    }
    let value = digits
        .get(..len)
        .unwrap_or("")
        .chars()
        .filter_map(|c| c.to_digit(radix))
        .fold(0_u64, |sum, digit| sum.saturating_mul(u64::from(radix)).saturating_add(u64::from(digit)));
    let suffix = read_suffix(text, start + len)?;
    let kept = value & 0xffff_ffff;
    let magnitude = kept
        .checked_mul(suffix.multiplier)
        .map_or(Magnitude::TooGreat, |value| Magnitude::Finite { value, below_zero: false });
    let mut reading = Reading::new(magnitude, approximate(kept) * approximate(suffix.multiplier));
    // `00` and `07` mean the same in both bases.
    reading.is_octal = radix == 8 && value >= 8;
    // 0xffffffff is stock's own mark for infinity, hence not a number that can be meant.
    reading.is_truncated = value >= 0xffff_ffff;
    reading.is_cut_short = suffix.is_cut_short;
    Ok(reading)
}

/// Everything else: C's `strtod` and one multiplier.
fn read_decimal(text: &str) -> Result<Reading, usize> {
    let scan = scan_float(text).ok_or(0_usize)?;
    let suffix = read_suffix(text, scan.len)?;
    let mut reading = Reading::from_double(scan.value * approximate(suffix.multiplier));
    // Plain digits are computed in integers: 2^53 and more must not be rounded.
    if let Some(exact) = scan.exact {
        reading.magnitude = exact
            .checked_mul(suffix.multiplier)
            .map_or(Magnitude::TooGreat, |value| Magnitude::Finite { value, below_zero: scan.is_signed });
    }
    if scan.is_word {
        reading.magnitude = Magnitude::NotANumber;
    }
    reading.is_signed = scan.is_signed;
    reading.is_cut_short = suffix.is_cut_short;
    Ok(reading)
}

struct Suffix {
    multiplier: u64,
    is_cut_short: bool,
}

/// One optional multiplier, then the end, `,` or `/`.
fn read_suffix(text: &str, offset: usize) -> Result<Suffix, usize> {
    let mut rest = text.as_bytes().get(offset..).unwrap_or(&[]);
    let multiplier: u64 = match rest.first() {
        Some(b'k') => 1000,
        Some(b'K') => 1 << 10,
        Some(b'm') => 1_000_000,
        Some(b'M') => 1 << 20,
        Some(b'g') => 1_000_000_000,
        Some(b'G') => 1 << 30,
        Some(b't') => 1_000_000_000_000,
        Some(b'T') => 1 << 40,
        _ => 1,
    };
    if multiplier != 1 {
        rest = rest.get(1..).unwrap_or(&[]);
    }
    match rest.first() {
        None => Ok(Suffix { multiplier, is_cut_short: false }),
        Some(b',' | b'/') => Ok(Suffix { multiplier, is_cut_short: true }),
        Some(_) => Err(text.len() - rest.len()),
    }
}

struct Float {
    value: f64,
    len: usize,
    is_signed: bool,
    /// `nan` or `inf`.
    is_word: bool,
    /// The magnitude, if the text consists of decimal digits only and fits.
    exact: Option<u64>,
}

/// The longest prefix that C's `strtod` reads (without leading blanks and without `nan(...)`).
fn scan_float(text: &str) -> Option<Float> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign_len = text.len() - unsigned.len();
    let is_signed = text.starts_with('-');
    let with_sign = |value: f64| if is_signed { -value } else { value };
    let starts_with = |word: &str| unsigned.get(..word.len()).is_some_and(|p| p.eq_ignore_ascii_case(word));
    for (word, value) in [("infinity", f64::INFINITY), ("inf", f64::INFINITY), ("nan", f64::NAN)] {
        if starts_with(word) {
            return Some(Float {
                value: with_sign(value),
                len: sign_len + word.len(),
                is_signed,
                is_word: true,
                exact: None,
            });
        }
    }
    let (value, len, exact) = if starts_with("0x") { scan_hex(unsigned)? } else { scan_plain(unsigned)? };
    Some(Float { value: with_sign(value), len: sign_len + len, is_signed, is_word: false, exact })
}

fn digits_at(bytes: &[u8], from: usize, is_digit: fn(&u8) -> bool) -> usize {
    bytes.get(from..).unwrap_or(&[]).iter().take_while(|byte| is_digit(byte)).count()
}

/// The length of an exponent (`e` or `p`, sign, digits) at `from`; 0 if there is none.
fn exponent_at(bytes: &[u8], from: usize, mark: u8) -> usize {
    if !bytes.get(from).is_some_and(|byte| byte.eq_ignore_ascii_case(&mark)) {
        return 0;
    }
    let sign = usize::from(matches!(bytes.get(from + 1), Some(b'+' | b'-')));
    match digits_at(bytes, from + 1 + sign, u8::is_ascii_digit) {
        0 => 0,
        digits => 1 + sign + digits,
    }
}

fn scan_plain(text: &str) -> Option<(f64, usize, Option<u64>)> {
    let bytes = text.as_bytes();
    let whole = digits_at(bytes, 0, u8::is_ascii_digit);
    let mut len = whole;
    if bytes.get(len) == Some(&b'.') {
        let fraction = digits_at(bytes, len + 1, u8::is_ascii_digit);
        if whole + fraction == 0 {
            return None;
        }
        len += 1 + fraction;
    } else if whole == 0 {
        return None;
    }
    len += exponent_at(bytes, len, b'e');
    let number = text.get(..len)?;
    let exact = if len == whole { number.parse().ok() } else { None };
    Some((number.parse().ok()?, len, exact))
}

/// `0x` digits, point, digits, `p` exponent. Without digits `strtod` reads just the `0`.
fn scan_hex(text: &str) -> Option<(f64, usize, Option<u64>)> {
    let bytes = text.as_bytes();
    let whole = digits_at(bytes, 2, u8::is_ascii_hexdigit);
    let mut len = 2 + whole;
    let mut fraction = 0;
    if bytes.get(len) == Some(&b'.') {
        fraction = digits_at(bytes, len + 1, u8::is_ascii_hexdigit);
        len += 1 + fraction;
    }
    if whole + fraction == 0 {
        return Some((0.0, 1, Some(0)));
    }
    let mut value = 0.0;
    for digit in text.get(2..len)?.chars().filter_map(|c| c.to_digit(16)) {
        value = value * 16.0 + f64::from(digit);
    }
    let exponent_len = exponent_at(bytes, len, b'p');
    let written: i32 = match exponent_len {
        0 => 0,
        // An exponent that does not fit is as good as infinite in its direction.
        n => text.get(len + 1..len + n)?.parse().unwrap_or(if bytes.get(len + 1) == Some(&b'-') {
            -9999
        } else {
            9999
        }),
    };
    let shift = i32::try_from(fraction).unwrap_or(9999).saturating_mul(4);
    value *= 2.0_f64.powi(written.saturating_sub(shift));
    Some((value, len + exponent_len, None))
}

/// Cuts a fraction off; `None` above 64 bits.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked first")]
fn truncated(value: f64) -> Option<u64> {
    // 2^64, the first number that does not fit.
    (value < 18_446_744_073_709_551_616.0).then_some(value as u64)
}

fn approximate(value: u64) -> f64 {
    value as f64
}

//! From [`Value`] to the Rust types of a queue instance.

use oxherd_model::host_group::HostId;
use oxherd_model::limit::{Bytes, Limit, Seconds, SlotCount};
use oxherd_model::method::Method;
use oxherd_model::procedure::Procedure;
use oxherd_model::queue_instance::{ComplexValue, InitialState, ProcessorRange, QueueType};
use oxherd_model::shell_start_mode::ShellStartMode;
use oxherd_model::subordinate::SubordinateList;

use super::Value;

/// A type that some kinds of values turn into.
pub trait FromValue: Sized {
    /// The typed value, `None` if `value` is of another kind.
    fn from_value(value: &Value) -> Option<Self>;

    /// What stands in after a mismatch of table and instance, a bug that `every_attribute_resolves` would catch:
    /// the value that restricts nothing.
    fn harmless() -> Self;
}

macro_rules! from_value {
    ($($type:ty: $($variant:ident)|+ else $harmless:expr;)*) => {
        $(impl FromValue for $type {
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    $(Value::$variant(inner) => Some(inner.clone()),)+
                    _ => None,
                }
            }

            fn harmless() -> Self {
                $harmless
            }
        })*
    };
}

from_value! {
    String: Name | Path else Self::new();
    Vec<HostId>: Hosts else Self::new();
    u32: Number else 0;
    SlotCount: Slots else Self(0);
    i32: Priority else 0;
    Limit<Seconds>: Time else Self::Infinity;
    Limit<Bytes>: Memory else Self::Infinity;
    bool: Bool else false;
    Vec<String>: Names else Self::new();
    QueueType: QueueType else Self::default();
    Vec<ComplexValue>: ComplexValues else Self::new();
    Option<Vec<ProcessorRange>>: Processors else None;
    Option<Procedure>: Procedure else None;
    Option<String>: Optional else None;
    Method: Method else Self::Default;
    ShellStartMode: StartMode else Self::PosixCompliant;
    SubordinateList: Subordinates else Self::default();
    InitialState: InitialState else Self::Default;
}

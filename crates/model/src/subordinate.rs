//! `subordinate_list` of queue_conf(5): queue-wise or slot-wise, never both in one list.

/// The parsed list. `NONE` is an empty queue-wise list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubordinateList {
    /// `q[=n],...`: the whole queue is suspended when `n` (or all) slots of this one are used.
    QueueWise(Vec<QueueWise>),
    /// `slots=n(q[:seq[:action]],...)`: single tasks of the tree are suspended above `n` running tasks.
    SlotWise {
        /// Running tasks allowed in the tree, at least 1.
        slots: u32,
        /// The subordinated queues, as listed.
        queues: Vec<SlotWise>,
    },
}

/// One queue of a queue-wise list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueWise {
    /// The subordinated queue.
    pub queue: String,
    /// Used slots that trigger the suspension; `None` means all.
    pub slots: Option<u32>,
}

/// One queue of a slot-wise list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotWise {
    /// The subordinated queue.
    pub queue: String,
    /// Higher numbers are suspended first; default 0.
    pub seq_no: u32,
    /// Which task goes first.
    pub action: SlotWiseAction,
}

/// Which task of a queue is suspended first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlotWiseAction {
    /// `sr`: the one that has run for the shortest time. The default.
    #[default]
    ShortestRunTime,
    /// `lr`: the one that has run longest.
    LongestRunTime,
}

impl SlotWiseAction {
    /// `sr` or `lr`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ShortestRunTime => "sr",
            Self::LongestRunTime => "lr",
        }
    }
}

/// Why a text is no subordinate list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubordinateError {
    /// The count of a queue-wise entry is no number, or 0.
    #[error("expected a number of slots from 1 after `{queue}=`, found `{found}`")]
    Count { queue: String, found: String },
    /// The threshold of a slot-wise list is no number, or 0.
    #[error("expected a number of tasks from 1 after `slots=`, found `{0}`")]
    Threshold(String),
    /// `slots=2(` without the closing parenthesis at the end of the value.
    #[error("expected `)` at the end of the slot-wise list `{0}`")]
    Unclosed(String),
    /// A slot-wise sequence number that is no number.
    #[error("expected a sequence number in `{entry}`, found `{found}`")]
    SeqNo { entry: String, found: String },
    /// Neither `sr` nor `lr`.
    #[error("expected the action `sr` or `lr` in `{entry}`, found `{found}`")]
    Action { entry: String, found: String },
    /// An element without a queue name, or an empty list in parentheses.
    #[error("expected a queue name, found `{0}`")]
    Queue(String),
}

impl SubordinateList {
    /// Parses a list. Blanks and commas separate elements.
    ///
    /// # Errors
    /// Unreadable numbers, unknown actions, empty names.
    pub fn parse(text: &str) -> Result<Self, SubordinateError> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("none") {
            return Ok(Self::QueueWise(Vec::new()));
        }
        match text.split_once('(') {
            Some((head, rest)) if head.trim_end().to_ascii_lowercase().starts_with("slots=") => {
                slot_wise(text, head, rest)
            }
            _ => elements(text).map(queue_wise).collect::<Result<_, _>>().map(Self::QueueWise),
        }
    }

    /// The names of all subordinated queues.
    pub fn queues(&self) -> Vec<&str> {
        match self {
            Self::QueueWise(list) => list.iter().map(|entry| entry.queue.as_str()).collect(),
            Self::SlotWise { queues, .. } => queues.iter().map(|entry| entry.queue.as_str()).collect(),
        }
    }
}

impl Default for SubordinateList {
    fn default() -> Self {
        Self::QueueWise(Vec::new())
    }
}

fn elements(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c == ',' || c.is_ascii_whitespace()).filter(|element| !element.is_empty())
}

fn queue_wise(entry: &str) -> Result<QueueWise, SubordinateError> {
    let (queue, slots) = match entry.split_once('=') {
        None => (entry, None),
        Some((queue, count)) => match count.parse::<u32>() {
            Ok(number) if number > 0 => (queue, Some(number)),
            _ => {
                return Err(SubordinateError::Count { queue: queue.to_owned(), found: count.to_owned() });
            }
        },
    };
    if queue.is_empty() || queue.contains(['(', ')', ':']) {
        return Err(SubordinateError::Queue(entry.to_owned()));
    }
    Ok(QueueWise { queue: queue.to_owned(), slots })
}

fn slot_wise(text: &str, head: &str, rest: &str) -> Result<SubordinateList, SubordinateError> {
    let count = head.split_once('=').map_or("", |(_, count)| count.trim());
    let slots = match count.parse::<u32>() {
        Ok(number) if number > 0 => number,
        _ => return Err(SubordinateError::Threshold(count.to_owned())),
    };
    let Some(inside) = rest.strip_suffix(')') else {
        return Err(SubordinateError::Unclosed(text.to_owned()));
    };
    let queues = elements(inside).map(slot_wise_entry).collect::<Result<Vec<_>, _>>()?;
    if queues.is_empty() {
        return Err(SubordinateError::Queue(inside.to_owned()));
    }
    Ok(SubordinateList::SlotWise { slots, queues })
}

fn slot_wise_entry(entry: &str) -> Result<SlotWise, SubordinateError> {
    let mut parts = entry.split(':');
    let queue = parts.next().unwrap_or("");
    if queue.is_empty() || queue.contains(['(', ')', '=']) {
        return Err(SubordinateError::Queue(entry.to_owned()));
    }
    let mut result = SlotWise { queue: queue.to_owned(), seq_no: 0, action: SlotWiseAction::default() };
    let mut rest: Vec<&str> = parts.collect();
    // `B.q:lr` leaves the sequence number out; the manual's brackets allow it.
    if let Some(last) = rest.last().copied()
        && let Some(action) = action(last)
    {
        result.action = action;
        rest.pop();
    } else if let [_, found] = rest.as_slice() {
        return Err(SubordinateError::Action { entry: entry.to_owned(), found: (*found).to_owned() });
    }
    match rest.as_slice() {
        [] => Ok(result),
        [number] => match number.parse() {
            Ok(seq_no) => Ok(SlotWise { seq_no, ..result }),
            Err(_) => Err(SubordinateError::SeqNo { entry: entry.to_owned(), found: (*number).to_owned() }),
        },
        [_, found, ..] => {
            Err(SubordinateError::Action { entry: entry.to_owned(), found: (*found).to_owned() })
        }
    }
}

fn action(text: &str) -> Option<SlotWiseAction> {
    match text {
        "sr" => Some(SlotWiseAction::ShortestRunTime),
        "lr" => Some(SlotWiseAction::LongestRunTime),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_wise_lists_carry_optional_counts() {
        let list = SubordinateList::parse("low.q=5, small.q").unwrap();
        assert_eq!(
            list,
            SubordinateList::QueueWise(vec![
                QueueWise { queue: "low.q".to_owned(), slots: Some(5) },
                QueueWise { queue: "small.q".to_owned(), slots: None },
            ])
        );
        assert_eq!(SubordinateList::parse("none").unwrap(), SubordinateList::default());
    }

    #[test]
    fn slot_wise_lists_carry_sequence_numbers_and_actions() {
        let list = SubordinateList::parse("slots=2(B.q:1:lr, C.q:2,D.q, E.q:lr)").unwrap();
        let SubordinateList::SlotWise { slots, queues } = list else { panic!("queue-wise") };
        assert_eq!(slots, 2);
        let short: Vec<_> = queues.iter().map(|q| (q.queue.as_str(), q.seq_no, q.action.as_str())).collect();
        assert_eq!(short, [("B.q", 1, "lr"), ("C.q", 2, "sr"), ("D.q", 0, "sr"), ("E.q", 0, "lr")]);
    }

    #[test]
    fn broken_lists_are_refused() {
        for text in ["b.q=0", "b.q=x", "=2", "slots=0(B.q)", "slots=2(B.q", "slots=2()", "slots=x(B.q)"] {
            assert!(SubordinateList::parse(text).is_err(), "{text}");
        }
        for text in ["slots=2(B.q:x)", "slots=2(B.q:1:xx)", "slots=2(B.q:1:lr:9)", "b.q(3)"] {
            assert!(SubordinateList::parse(text).is_err(), "{text}");
        }
    }
}

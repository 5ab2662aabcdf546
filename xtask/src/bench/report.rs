//! The table at the end of a bench, and the same as JSON.

use std::fmt::Write as _;

/// One measure. Figures of programs that were not here, or failed, are None.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) what: String,
    pub(super) stock: Option<f64>,
    pub(super) ours: Option<f64>,
    pub(super) floor: Option<f64>,
    /// The ratio the target speaks of.
    pub(super) ratio: Option<Ratio>,
    /// The target as targets are written down.
    pub(super) target: &'static str,
    /// None when it cannot be said.
    pub(super) met: Option<bool>,
}

impl Row {
    pub(super) fn new(
        name: &'static str,
        what: String,
        stock: Option<f64>,
        ours: Option<f64>,
        floor: Option<f64>,
    ) -> Self {
        Self { name, what, stock, ours, floor, ratio: None, target: "", met: None }
    }

    /// With the ratio that nobody can exceed.
    pub(super) fn most(self) -> Self {
        let ratio = Ratio::new("stock/floor", self.stock, self.floor);
        Self { ratio, target: "(the most there is)", met: None, ..self }
    }

    /// With a ratio that has to stay below a limit.
    pub(super) fn at_most(self, limit: f64, ratio: Option<Ratio>, target: &'static str) -> Self {
        Self { met: ratio.as_ref().map(|ratio| ratio.value <= limit), ratio, target, ..self }
    }

    /// With a ratio that has to reach a limit.
    pub(super) fn at_least(self, limit: f64, ratio: Option<Ratio>, target: &'static str) -> Self {
        Self { met: ratio.as_ref().map(|ratio| ratio.value >= limit), ratio, target, ..self }
    }
}

#[derive(Clone)]
pub(super) struct Ratio {
    pub(super) of: &'static str,
    pub(super) value: f64,
}

impl Ratio {
    pub(super) fn new(of: &'static str, above: Option<f64>, below: Option<f64>) -> Option<Self> {
        let (above, below) = (above?, below?);
        (below > 0.0).then(|| Self { of, value: above / below })
    }
}

fn figure(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value.abs() >= 100.0 || value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) if value.abs() < 0.095 => format!("{value:.3}"),
        Some(value) => format!("{value:.2}"),
    }
}

/// `floor` is the head of the column of what cannot be beaten.
pub(super) fn table(rows: &[Row], floor: &str) -> String {
    let head = ["", "measure", "stock", "ours", floor, "ratio", "target", ""].map(str::to_owned);
    let mut lines = vec![head];
    for row in rows {
        let ratio = row.ratio.as_ref();
        lines.push([
            row.name.to_owned(),
            row.what.clone(),
            figure(row.stock),
            figure(row.ours),
            figure(row.floor),
            ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{:.2} {}", ratio.value, ratio.of)),
            row.target.to_owned(),
            row.met.map_or("", |met| if met { "met" } else { "NOT MET" }).to_owned(),
        ]);
    }
    let mut text = String::new();
    for line in &lines {
        let mut columns = String::new();
        for (index, cell) in line.iter().enumerate() {
            let width = lines.iter().map(|line| line[index].chars().count()).max().unwrap_or(0);
            // Figures to the right, words to the left.
            if (2..5).contains(&index) {
                let _ = write!(columns, "{cell:>width$}  ");
            } else {
                let _ = write!(columns, "{cell:<width$}  ");
            }
        }
        let _ = writeln!(text, "{}", columns.trim_end());
    }
    text
}

pub(super) fn json(rows: &[Row]) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| "null".to_owned(), |value| format!("{value:.4}"));
    let mut text = String::from("{\"measures\": [\n");
    for (index, row) in rows.iter().enumerate() {
        let ratio = row.ratio.as_ref();
        let _ = write!(
            text,
            "  {{\"name\": {}, \"what\": {}, \"stock\": {}, \"ours\": {}, \"floor\": {}, \"ratio\": {}, \
             \"ratio_of\": {}, \"target\": {}, \"met\": {}}}{}",
            string(row.name),
            string(&row.what),
            number(row.stock),
            number(row.ours),
            number(row.floor),
            number(ratio.map(|ratio| ratio.value)),
            ratio.map_or_else(|| "null".to_owned(), |ratio| string(ratio.of)),
            string(row.target),
            row.met.map_or_else(|| "null".to_owned(), |met| met.to_string()),
            if index + 1 < rows.len() { ",\n" } else { "\n" },
        );
    }
    text.push_str("]}\n");
    text
}

/// Our own texts: no control characters in them.
fn string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

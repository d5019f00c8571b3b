//! `docs/benchmarks.svg`: time over size, one panel a shape, both axes logarithmic.

use super::table::{Row, Table};
use std::fmt::Write as _;

/// The shapes that are drawn.
const PANELS: [&str; 8] = ["small", "deadcode", "archive", "host", "weakdup", "manyk", "ladder", "debug"];
const COLUMNS: usize = 4;
/// Size of a panel, and the room for the axes inside it.
const WIDTH: f64 = 230.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 30.0;
/// Room for the legend.
const HEAD: f64 = 34.0;

/// A line of the chart: name, colour, dashes, and the time of a row.
type Line = (&'static str, &'static str, &'static str, fn(&Row) -> Option<f64>);

const LINES: [Line; 3] = [
    ("nvlink", "#c2410c", "", |r| r.nvlink.map(|c| c.wall)),
    ("culd", "#1d4ed8", "", |r| Some(r.culd.wall)),
    ("floor: read the inputs, write the output", "#9ca3af", "3 3", |r| Some(r.floor)),
];

/// The picture.
pub(super) fn draw(table: &Table) -> String {
    let (width, height) = (WIDTH * COLUMNS as f64, HEAD + HEIGHT * (PANELS.len() / COLUMNS) as f64);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"10\">\n\
         <title>Seconds of a device link over its size</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    let mut x = LEFT;
    for (name, colour, dashes, _) in LINES {
        let _ = writeln!(
            out,
            "<path d=\"M{x} 18h24\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/><text x=\"{}\" y=\"21\">{name}</text>",
            x + 30.0
        );
        x += 100.0;
    }
    for (i, shape) in PANELS.iter().enumerate() {
        let at = ((i % COLUMNS) as f64 * WIDTH, HEAD + (i / COLUMNS) as f64 * HEIGHT);
        panel(&mut out, shape, &table.of(shape), at);
    }
    out.push_str("</svg>\n");
    out
}

/// One logarithmic axis: values and the places they are drawn at.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64>, (from, to): (f64, f64)) -> Self {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v.log10()), h.max(v.log10())));
        Self { low, high, from, to }
    }

    fn at(&self, value: f64) -> f64 {
        let span = (self.high - self.low).max(0.1);
        self.from + (value.log10() - self.low) / span * (self.to - self.from)
    }

    /// Powers of ten on the axis.
    fn decades(&self) -> impl Iterator<Item = f64> {
        (self.low.ceil() as i32..=self.high.floor() as i32).map(|e| 10f64.powi(e))
    }
}

fn panel(out: &mut String, shape: &str, rows: &[&Row], (left, top): (f64, f64)) {
    let (x0, x1) = (left + LEFT, left + WIDTH - RIGHT);
    let (y0, y1) = (top + HEIGHT - BOTTOM, top + TOP);
    let _ = writeln!(
        out,
        "<text x=\"{x0}\" y=\"{}\" font-size=\"12\" font-weight=\"bold\">{shape}</text>",
        top + 16.0
    );
    let _ = writeln!(out, "<path d=\"M{x0} {y1}V{y0}H{x1}\" fill=\"none\" stroke=\"#374151\"/>");
    if rows.is_empty() {
        return;
    }
    let times = rows.iter().flat_map(|r| LINES.iter().filter_map(|(.., time)| time(r)));
    let vertical = Axis::new(times, (y0, y1));
    let horizontal = Axis::new(rows.iter().map(|r| r.size as f64), (x0 + 6.0, x1));
    for decade in vertical.decades() {
        let y = vertical.at(decade);
        let _ = writeln!(
            out,
            "<path d=\"M{x0} {y:.1}H{x1}\" stroke=\"#e5e7eb\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{decade} s</text>",
            x0 - 4.0,
            y + 3.0
        );
    }
    let mut free = f64::NEG_INFINITY;
    for row in rows {
        let x = horizontal.at(row.size as f64);
        // a label only where the one before has ended
        if x > free {
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                y0 + 14.0,
                row.size
            );
            free = x + 6.0 * row.size.to_string().len() as f64 + 4.0;
        }
    }
    for (_, colour, dashes, time) in LINES {
        let points: Vec<(f64, f64)> = rows
            .iter()
            .filter_map(|r| Some((horizontal.at(r.size as f64), vertical.at(time(r)?))))
            .collect();
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        let _ = writeln!(
            out,
            "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/>",
            path.join("L")
        );
        if dashes.is_empty() {
            for (x, y) in points {
                let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{colour}\"/>");
            }
        }
    }
}

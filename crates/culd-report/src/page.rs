//! One HTML page: markup, style, script and data in one file, without references to other files.

use crate::model::Report;

const FRAME: &str = include_str!("page/frame.html");
const STYLE: &str = include_str!("page/style.css");
/// Scripts in the order in which they run.
const SCRIPTS: [&str; 7] = [
    include_str!("page/base.js"),
    include_str!("page/occupancy.js"),
    include_str!("page/treemap.js"),
    include_str!("page/grid.js"),
    include_str!("page/detail.js"),
    include_str!("page/panels.js"),
    include_str!("page/app.js"),
];

/// The page of a description.
pub fn html(report: &Report) -> String {
    let data = serde_json::to_string(report).unwrap_or_else(|_| "null".into());
    fill(&report.title, &data, "")
}

/// The script that hands files to the reader.
const READER: &str = include_str!("page/reader.js");

/// The page without data: a place to drop files. `module` is the reader, compiled to WebAssembly, packed by gzip and written in base64.
pub fn viewer(module: &str) -> String {
    fill("culd viewer", "null", &format!("window.culdModule = \"{module}\";\n{READER}"))
}

fn fill(title: &str, data: &str, reader: &str) -> String {
    let script = SCRIPTS.join("\n");
    let mut out = String::with_capacity(FRAME.len() + STYLE.len() + script.len() + data.len() + reader.len());
    let mut rest = FRAME;
    // One pass: what is filled in is not searched for marks again.
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((mark, after)) = after.split_once("}}") else { break };
        match mark {
            "title" => out.push_str(&escape(title)),
            "style" => out.push_str(STYLE),
            // `<` occurs only inside of strings: no text of a name can end the element.
            "data" => out.push_str(&data.replace('<', "\\u003c")),
            "reader" => out.push_str(reader),
            "script" => out.push_str(&script),
            _ => {}
        }
        rest = after;
    }
    out + rest
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_place() {
        let mut report = Report::new("a</title><script>x</script>");
        report.messages.push(crate::model::Message {
            text: "</script><!-- {{style}}".into(),
            ..Default::default()
        });
        let page = html(&report);
        assert!(page.contains("<title>a&lt;/title&gt;"));
        assert!(page.contains("\\u003c/script>\\u003c!-- {{style}}"));
        let scripts = 2 + usize::from(!page.contains("<script id=\"reader\"></script>"));
        assert_eq!(page.matches("</script>").count(), scripts.max(3));
        assert!(!page.contains("http://") || page.matches("http://").count() == page.matches("http://www.w3.org").count());
    }
}

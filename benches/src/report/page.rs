//! The page: sections of charts and tables, one file, nothing fetched.

use super::chart::{self, Chart};
use crate::failure::Failure;

const STYLE: &str = include_str!("style.css");

/// Rows of a table below a chart, at most; of more points evenly many are shown.
const ROWS: usize = 12;

pub(crate) struct Page {
    body: String,
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Page {
    pub(crate) fn new(title: &str, facts: &[(&str, String)]) -> Self {
        let mut body = format!("<header><h1>{}</h1><dl>", escaped(title));
        for (name, value) in facts {
            body += &format!("<div><dt>{}</dt><dd>{}</dd></div>", escaped(name), escaped(value));
        }
        Self { body: body + "</dl></header>\n" }
    }

    pub(crate) fn section(&mut self, title: &str, about: &str) {
        // What stands between backticks is code.
        let parts = about.split('`').enumerate().map(|(at, part)| match at % 2 {
            0 => escaped(part),
            _ => format!("<code>{}</code>", escaped(part)),
        });
        self.body += &format!("<h2>{}</h2>\n<p>{}</p>\n", escaped(title), parts.collect::<String>());
    }

    /// Charts side by side where there is room.
    pub(crate) fn charts(&mut self, charts: &[Chart]) -> Result<(), Failure> {
        self.body += "<div class=\"cards\">\n";
        for chart in charts {
            self.body += &card(chart)?;
        }
        self.body += "</div>\n";
        Ok(())
    }

    pub(crate) fn table(&mut self, caption: &str, heads: &[&str], rows: &[Vec<String>], command: &str) {
        self.body += &format!(
            "<section class=\"card wide\"><h3>{}</h3>{}<p class=\"made\">made by <code>{}</code></p></section>\n",
            escaped(caption),
            table(heads, rows),
            escaped(command)
        );
    }

    pub(crate) fn finish(self) -> String {
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\"><title>pointsman, measured</title>\n\
             <style>\n{STYLE}</style></head>\n<body>\n{}</body></html>\n",
            self.body
        )
    }
}

fn card(chart: &Chart) -> Result<String, Failure> {
    let key = |(place, series): (usize, &chart::Series)| {
        let colour = chart::colour(place);
        format!("<li><i style=\"background:{colour}\"></i>{}</li>", escaped(&series.name))
    };
    let keys: String = chart.series.iter().enumerate().map(key).collect();
    let scale = |axis: &chart::Axis| format!("{}{}", axis.name, if axis.log { " (log)" } else { "" });
    Ok(format!(
        "<section class=\"card\"><h3>{}</h3><p class=\"axes\">{} against {}</p>\n<figure>{}</figure>\n\
         <ul class=\"key\">{keys}</ul>\n{}<p class=\"made\">made by <code>{}</code></p></section>\n",
        escaped(&chart.title),
        escaped(&scale(&chart.y)),
        escaped(&scale(&chart.x)),
        chart::svg(chart)?,
        numbers(chart),
        escaped(&chart.command),
    ))
}

/// The chart's numbers: a row for each x, a column for each series.
fn numbers(chart: &Chart) -> String {
    let mut xs: Vec<f64> =
        chart.series.iter().flat_map(|series| &series.points).map(|point| point.0).collect();
    xs.sort_unstable_by(f64::total_cmp);
    xs.dedup();
    let step = xs.len().div_ceil(ROWS).max(1);
    let shown = xs.iter().enumerate().filter(|(at, _)| (at + 1).is_multiple_of(step) || step == 1);
    let rows: Vec<Vec<String>> = shown
        .map(|(_, x)| {
            let value = |series: &chart::Series| {
                let at = series.points.iter().find(|point| point.0 == *x);
                at.map_or("–".to_owned(), |point| (chart.y.show)(point.1))
            };
            std::iter::once((chart.x.show)(*x)).chain(chart.series.iter().map(value)).collect()
        })
        .collect();
    let heads: Vec<&str> =
        std::iter::once(chart.x.name).chain(chart.series.iter().map(|series| series.name.as_str())).collect();
    table(&heads, &rows)
}

fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let heads: String = heads.iter().map(|head| format!("<th>{}</th>", escaped(head))).collect();
    let row = |row: &Vec<String>| {
        let cells: String = row.iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
        format!("<tr>{cells}</tr>")
    };
    let rows: String = rows.iter().map(row).collect();
    // Focus lets a keyboard scroll it.
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>\n"
    )
}

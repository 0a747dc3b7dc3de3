//! Text for people: widths, bars, colours; and the JSON of the reports.

use std::borrow::Cow;
use std::io::IsTerminal;

use serde::Serialize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::failure::Failure;

/// Most rows of a list that are shown.
pub(crate) const ROWS: usize = 20;

/// Columns of a line.
pub(crate) const LINE: usize = 79;

/// Widest id that is shown whole.
pub(crate) const ID: usize = 30;

/// Colours, on a terminal whose user does not refuse them (no-color.org).
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    pub(crate) fn for_stdout() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { on: !refused && !dumb && std::io::stdout().is_terminal() }
    }

    pub(crate) fn strong(&self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn faint(&self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn good(&self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn bad(&self, text: &str) -> String {
        self.with("31", text)
    }

    fn with(&self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// One line of JSON.
pub(crate) fn json(report: &impl Serialize) -> Result<String, Failure> {
    match serde_json::to_string(report) {
        Ok(text) => Ok(text + "\n"),
        Err(error) => Err(Failure::bad("JSON", error)),
    }
}

/// Refuses a file that cannot be written, before there is anything to lose. One that is there keeps its content.
pub(crate) fn check_writable(path: &str) -> Result<(), Failure> {
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(path);
    opened.map(drop).map_err(|error| Failure::bad(path, error))
}

/// The text without what would break a line or steer a terminal: documents come from elsewhere.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let steers = |c: char| c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(steers) {
        return text.into();
    }
    text.chars()
        .fold(String::new(), |mut shown, c| {
            if steers(c) {
                shown.extend(c.escape_default())
            } else {
                shown.push(c)
            }
            shown
        })
        .into()
}

/// The text in at most `width` columns: both ends of it, as names differ in front and ports at the end.
pub(crate) fn cut(text: &str, width: usize) -> Cow<'_, str> {
    let text = printable(text);
    if text.width() <= width {
        return text;
    }
    let room = width.saturating_sub(1);
    let tail: String = {
        let kept = fitting(text.chars().rev(), room / 2);
        kept.chars().rev().collect()
    };
    let head = fitting(text.chars(), room - tail.width());
    format!("{head}…{tail}").into()
}

fn fitting(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= width
        })
        .collect()
}

/// Fills up with spaces to `width` columns.
pub(crate) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// The width of the id column.
pub(crate) fn id_width<'a>(ids: impl Iterator<Item = &'a str>) -> usize {
    ids.map(|id| printable(id).width()).max().unwrap_or(0).min(ID)
}

pub(crate) fn id(id: &str, width: usize) -> String {
    pad(&cut(id, width), width)
}

/// A text in lines of a terminal's width, those behind the first further in; words that are too long stay whole.
pub(crate) fn wrapped(text: &str) -> String {
    let text = printable(text);
    let mut wrapped = String::from(" ");
    let mut used = 1;
    for word in text.split_whitespace() {
        if used + 1 + word.width() > LINE && used > 4 {
            wrapped.push_str("\n   ");
            used = 3;
        }
        wrapped.push(' ');
        wrapped.push_str(word);
        used += 1 + word.width();
    }
    wrapped + "\n"
}

/// Digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 instance`, `2 instances`.
pub(crate) fn counted(number: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(number as u64), if number == 1 { "" } else { "s" })
}

/// A share in percent, with two decimals, or two digits where it is small.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || percent >= 0.1 {
        return format!("{percent:.2} %");
    }
    if percent >= 0.0001 { format!("{percent:.5} %") } else { format!("{percent:.0e} %") }
}

/// A bar of a share in proportion to the largest, in eighths of a column.
pub(crate) fn bar(share: f64, largest: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if largest <= 0.0 {
        return String::new();
    }
    let eighths = (share / largest * (width * 8) as f64).round() as usize;
    let eighths = eighths.min(width * 8).max(usize::from(share > 0.0));
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
    }

    #[test]
    fn long_ids_keep_both_ends() {
        assert_eq!(cut("short:80", 30), "short:80");
        assert_eq!(cut("a-very-long-host-name.example:8080", 15), "a-very-…le:8080");
        assert_eq!(cut("東京東京東京東京:80", 9), "東京…:80");
        assert_eq!(cut("abc", 0).width(), 1);
    }

    #[test]
    fn long_texts_are_wrapped_at_words() {
        assert_eq!(wrapped("a b"), "  a b\n");
        let text = wrapped(&"word ".repeat(40));
        assert!(text.lines().all(|line| line.width() <= LINE && line.starts_with("  ")));
        assert!(text.lines().skip(1).all(|line| line.starts_with("    word")));
        assert_eq!(wrapped(&"x".repeat(100)).lines().count(), 1);
    }

    #[test]
    fn control_characters_are_shown_not_sent() {
        assert_eq!(printable("a\x1b[31m\nb"), "a\\u{1b}[31m\\nb");
        assert_eq!(printable("naïve"), "naïve");
    }

    #[test]
    fn bars_are_proportional_and_never_vanish() {
        assert_eq!(bar(1.0, 1.0, 4), "████");
        assert_eq!(bar(0.5, 1.0, 4), "██");
        assert_eq!(bar(0.001, 1.0, 4), "▏");
        assert_eq!(bar(0.0, 1.0, 4), "");
        assert_eq!(bar(2.0, 1.0, 4), "████");
        assert_eq!(bar(0.0, 0.0, 4), "");
    }

    #[test]
    fn small_shares_keep_digits() {
        assert_eq!(percent(0.125), "12.50 %");
        assert_eq!(percent(0.0001), "0.01000 %");
        assert_eq!(percent(0.0), "0.00 %");
    }
}

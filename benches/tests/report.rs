//! The report in a browser: at two widths, light and dark, every chart has marks and no text overlaps or is cut.
//!
//! Needs Chromium, which `scripts/setup` installs on Debian.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// What keeps Chromium from looking for anything but the page.
const ALONE: [&str; 8] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// A browser that has said nothing by then is stuck, on any machine.
const STUCK: Duration = Duration::from_secs(300);

/// Writes what is wrong with the page into the title of the page around it.
const CHECK: &str = r#"<script>
addEventListener('load', () => {
  const wrong = [];
  const scheme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  const luminance = colour => {
    const [r, g, b] = colour.match(/[\d.]+/g).map(part => (part / 255) ** 2.2);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const charts = [...document.querySelectorAll('svg')];
  if (charts.length < 3) wrong.push('charts: ' + charts.length);
  if (document.documentElement.scrollWidth > innerWidth) wrong.push('wider than the window');
  const paper = getComputedStyle(document.querySelector('.card')).backgroundColor;
  for (const chart of charts) {
    const name = chart.getAttribute('aria-label');
    const frame = chart.getBoundingClientRect();
    const marks = [...chart.querySelectorAll('polyline[fill=none], circle')].filter(mark => {
      const box = mark.getBoundingClientRect();
      return box.width > 1 && mark.getAttribute('opacity') > 0.5;
    });
    const series = chart.closest('.card').querySelectorAll('.key li').length;
    if (marks.length < series) wrong.push(name + ': ' + marks.length + ' marks for ' + series + ' series');
    if (chart.closest('.card').querySelectorAll('tbody tr').length < 1) wrong.push(name + ': no numbers');
    const texts = [...chart.querySelectorAll('text')];
    if (texts.length < 4) wrong.push(name + ': ' + texts.length + ' labels');
    const boxes = texts.map(text => [text.textContent.trim(), text.getBoundingClientRect()]);
    for (const [text, box] of boxes) {
      if (box.height < 8.5) wrong.push(name + ': ' + text + ' is small, ' + box.height);
      const inside = box.left >= frame.left - 1 && box.right <= frame.right + 1
        && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
      if (!inside) wrong.push(name + ': ' + text + ' is cut');
    }
    boxes.forEach(([one, a], at) => boxes.slice(at + 1).forEach(([other, b]) => {
      const apart = a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 2 || b.bottom <= a.top + 2;
      if (!apart) wrong.push(name + ': ' + one + ' over ' + other);
    }));
    for (const text of texts) {
      if (contrast(getComputedStyle(text).fill, paper) < 4.5) wrong.push(name + ': faint ' + text.textContent);
    }
    for (const key of chart.closest('.card').querySelectorAll('.key i')) {
      if (contrast(getComputedStyle(key).backgroundColor, paper) < 2.5) wrong.push(name + ': a faint line');
    }
  }
  for (const text of document.querySelectorAll('h1, h2, h3, p, dd')) {
    if (text.scrollWidth > text.clientWidth + 1) wrong.push('cut: ' + text.textContent);
  }
  top.document.title = [innerWidth, scheme, wrong.length ? wrong.slice(0, 9).join('; ') : 'good'].join(' | ');
});
</script>"#;

fn page(folder: &Path) -> String {
    let report = folder.join("report.html");
    let args = ["report", "--sizes", "8,64,1000", "--threads", "1,2", "--rounds", "1", "--scale", "0.01"];
    let status = Command::new(env!("CARGO_BIN_EXE_pointsman")).args(args).arg("-o").arg(&report).status();
    assert!(status.unwrap().success());
    std::fs::read_to_string(report).unwrap()
}

/// The title after the check, in this scheme.
fn title(path: &Path, scheme: &str) -> String {
    let profile = path.with_extension("profile");
    let _ = std::fs::remove_dir_all(&profile);
    let mut chromium = Command::new("chromium")
        .args(ALONE)
        .args(["--disable-dev-shm-usage", "--dump-dom", "--window-size=1400,1000"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--blink-settings=preferredColorScheme={}", u8::from(scheme == "light")))
        .arg(format!("file://{}", path.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("chromium is installed: `scripts/setup`, or what your system has for it");
    let (mut out, (say, said)) = (chromium.stdout.take().unwrap(), mpsc::channel());
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = out.read_to_end(&mut bytes);
        let _ = say.send(bytes);
    });
    let dom = said.recv_timeout(STUCK);
    if dom.is_err() {
        chromium.kill().unwrap();
    }
    let status = chromium.wait().unwrap();
    let dom = String::from_utf8_lossy(&dom.expect("chromium answers")).into_owned();
    assert!(status.success(), "chromium: {status}");
    let title = dom.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    title.map(|(title, _)| title.to_owned()).unwrap_or(dom)
}

#[test]
fn every_chart_is_whole_at_two_widths_in_light_and_dark() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let html = page(&folder);
    for outside in ["src=\"http", "href=", "@import", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
    let checked = folder.join("report-checked.html");
    let html =
        html.replace("</body>", &format!("{CHECK}</body>")).replace('&', "&amp;").replace('"', "&quot;");
    for (width, scheme) in [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")] {
        // A window may not be as narrow as a phone, a frame may.
        let around = format!(
            "<!doctype html><meta name=\"color-scheme\" content=\"light dark\"><title>unchecked</title>\
             <iframe style=\"width: {width}px; height: 900px; border: 0\" srcdoc=\"{html}\"></iframe>"
        );
        std::fs::write(&checked, around).unwrap();
        let title = title(&checked, scheme);
        let parts: Vec<&str> = title.splitn(3, " | ").collect();
        assert_eq!(parts.get(1), Some(&scheme), "{title}");
        assert_eq!(parts.get(2), Some(&"good"), "{width} {title}");
        let inner: u32 = parts[0].parse().unwrap();
        assert_eq!(inner, width, "{title}");
    }
}

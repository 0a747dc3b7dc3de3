//! Charts: lines over plain or logarithmic axes, as SVG without any text but that of the ticks.

use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::prelude::*;

use crate::failure::Failure;

/// Drawn for a phone's width, so that the ticks stay legible there; wider screens show charts side by side.
const SIZE: (u32, u32) = (400, 280);

/// The same in light and dark: middle tones. The first two are the engine's.
const COLOURS: [RGBColor; 9] = [
    RGBColor(0x1f, 0x77, 0xd0),
    RGBColor(0x1a, 0x9c, 0x94),
    RGBColor(0xd9, 0x54, 0x1e),
    RGBColor(0xa4, 0x5e, 0xe5),
    RGBColor(0xb5, 0x8a, 0x00),
    RGBColor(0xd6, 0x40, 0x9f),
    RGBColor(0x3f, 0x9b, 0x3f),
    RGBColor(0x8b, 0x6b, 0x52),
    RGBColor(0x85, 0x8d, 0x96),
];

/// What stands for the page's own colour of text.
const INK: RGBColor = BLACK;

/// Points beyond this number are drawn without dots.
const DOTS: usize = 12;

pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
    /// The command that made it.
    pub(crate) command: String,
}

pub(crate) struct Axis {
    pub(crate) name: &'static str,
    pub(crate) log: bool,
    pub(crate) show: fn(f64) -> String,
}

pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// The colour of a series, as CSS has it.
pub(crate) fn colour(place: usize) -> String {
    let RGBColor(red, green, blue) = COLOURS[place % COLOURS.len()];
    format!("#{red:02x}{green:02x}{blue:02x}")
}

pub(crate) fn svg(chart: &Chart) -> Result<String, Failure> {
    let mut text = String::new();
    drawn(chart, &mut text).map_err(|error| Failure::bad(&chart.title, error))?;
    let (width, height) = SIZE;
    let sized = format!("width=\"{width}\" height=\"{height}\" ");
    let named = format!("role=\"img\" aria-label=\"{}\" ", super::page::escaped(&chart.title));
    Ok(text.replacen(&sized, &named, 1).replace("#000000", "currentColor"))
}

fn drawn(chart: &Chart, text: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    let mut builder = ChartBuilder::on(&root);
    builder.margin(10).margin_right(22).x_label_area_size(26).y_label_area_size(54);
    let (x, y) = (range(chart, |point| point.0, &chart.x), range(chart, |point| point.1, &chart.y));
    match (chart.x.log, chart.y.log) {
        (true, true) => lines(builder.build_cartesian_2d(x.log_scale(), y.log_scale())?, chart),
        (true, false) => lines(builder.build_cartesian_2d(x.log_scale(), y)?, chart),
        (false, true) => lines(builder.build_cartesian_2d(x, y.log_scale())?, chart),
        (false, false) => lines(builder.build_cartesian_2d(x, y)?, chart),
    }?;
    root.present()?;
    Ok(())
}

fn range(chart: &Chart, of: fn(&(f64, f64)) -> f64, axis: &Axis) -> std::ops::Range<f64> {
    let values = || chart.series.iter().flat_map(|series| &series.points).map(of);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    match (axis.log, low < high) {
        (_, false) if !low.is_finite() => 0.0..1.0,
        // From one decade to the next where there would be too few ticks.
        (true, _) if high / low < 40.0 => decade(low, f64::floor)..decade(high, f64::ceil),
        (true, _) => low * 0.9..high * 1.1,
        (false, false) => low - 1.0..high + 1.0,
        (false, true) => low.min(0.0)..high * 1.02,
    }
}

fn decade(value: f64, rounded: fn(f64) -> f64) -> f64 {
    10_f64.powf(rounded(value.log10()))
}

fn lines<X, Y>(
    mut context: ChartContext<'_, SVGBackend<'_>, Cartesian2d<X, Y>>,
    chart: &Chart,
) -> Result<(), Box<dyn std::error::Error>>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    context
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.12))
        .axis_style(INK.mix(0.4))
        .label_style(("sans-serif", 15).into_font().color(&INK))
        .x_labels(5)
        .y_labels(6)
        .x_label_formatter(&|value| (chart.x.show)(*value))
        .y_label_formatter(&|value| (chart.y.show)(*value))
        .draw()?;
    // The engine's lines are drawn last, above the others.
    for (place, series) in chart.series.iter().enumerate().rev() {
        let colour = COLOURS[place % COLOURS.len()];
        let width = if place < 2 { 3 } else { 2 };
        context.draw_series(LineSeries::new(series.points.iter().copied(), colour.stroke_width(width)))?;
        if series.points.len() <= DOTS {
            let dot = |point: &(f64, f64)| Circle::new(*point, 3, colour.filled());
            context.draw_series(series.points.iter().map(dot))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_a_line_and_dots_for_each_series() {
        let axis = |log| Axis { name: "n", log, show: |value| format!("{value:.0}") };
        let series = |name: &str, scale: f64| Series {
            name: name.to_owned(),
            points: vec![(1.0, scale), (10.0, 2.0 * scale), (100.0, 9.0 * scale)],
        };
        for log in [true, false] {
            let chart = Chart {
                title: "a < b".to_owned(),
                x: axis(log),
                y: axis(log),
                series: vec![series("one", 1.0), series("other", 5.0)],
                command: String::new(),
            };
            let svg = svg(&chart).unwrap();
            assert_eq!(svg.matches("<circle").count(), 6);
            assert!(svg.contains(&format!("stroke=\"{}\"", colour(0).to_uppercase())), "{svg}");
            assert!(svg.contains("aria-label=\"a &lt; b\"") && svg.contains("currentColor"));
            assert!(!svg.contains(" width=\"400\""));
        }
    }
}

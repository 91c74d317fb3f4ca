use super::*;
use proptest::prelude::*;

fn count(svg: &str, part: &str) -> usize {
    svg.matches(part).count()
}

/// Every opening tag is closed, in order, and attributes have quotes.
fn well_formed(svg: &str) {
    let mut open: Vec<&str> = vec![];
    for piece in svg.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').unwrap_or_else(|| panic!("{piece}"));
        assert_eq!(count(tag, "\"") % 2, 0, "{tag}");
        let name = tag.split([' ', '/']).find(|n| !n.is_empty()).unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{svg}");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

/// A drawing with every kind of piece.
pub(super) fn everything() -> Drawing {
    let runs = vec![vec![(0.0, 1.0), (100.0, 3.0)], vec![(0.0, 2.0), (100.0, 5.0)]];
    let chart = Chart {
        title: "Everything (\u{e9}, \u{4e2d})".into(),
        description: "a ) b".into(),
        x_label: "steps".into(),
        y_label: "return".into(),
        series: vec![
            Series::quartiles("ours", Colour::new(0), &runs, 10),
            Series::line("theirs", Colour::new(1), [(50.0, 2.0)]),
        ],
        thin: vec![Series::line("few", Colour::new(2), [(60.0, 0.5), (100.0, 0.5)])],
        lines: vec![Reference::new("best", 6.0)],
        ..Chart::default()
    };
    chart.drawing()
}

#[test]
fn a_chart_has_its_curves_bands_and_lines() {
    let runs = vec![vec![(0.0, 1.0), (100.0, 3.0)], vec![(0.0, 2.0), (100.0, 5.0)]];
    let chart = Chart {
        title: "A < B".into(),
        description: "told & shown".into(),
        series: vec![
            Series::quartiles("ours", Colour::new(0), &runs, 10),
            Series::line("theirs", Colour::new(1), [(0.0, 0.0), (100.0, 1.0)]),
        ],
        lines: vec![Reference::new("best", 6.0)],
        ..Chart::default()
    };
    let svg = chart.svg();
    well_formed(&svg);
    assert_eq!(count(&svg, "class=\"fig-band\""), 1);
    assert_eq!(count(&svg, "<path class=\"fig-line\""), 2);
    assert_eq!(count(&svg, "stroke-dasharray"), 2); // the line and its entry in the legend
    assert!(svg.contains("<title>A &lt; B</title>") && svg.contains("<desc>told &amp; shown</desc>"));
    assert!(svg.contains("fig-paper") && svg.contains(">ours</text>"));
    let inline = chart.inline();
    well_formed(&inline);
    assert!(!inline.contains("fig-paper") && !inline.contains("<style") && !inline.contains(" style="));
}

#[test]
fn thin_curves_have_no_band_and_no_entry() {
    let svg = everything().svg();
    well_formed(&svg);
    assert_eq!(count(&svg, "class=\"fig-thin\""), 1);
    assert!(!svg.contains(">few</text>"), "{svg}");
}

#[test]
fn a_logarithmic_axis_says_so() {
    for scale in [Scale::Linear, Scale::Log] {
        let series = vec![Series::line("s", Colour::new(0), [(1.0, 0.0), (100.0, 10.0)])];
        let chart = Chart { series, x_label: "steps".into(), x_scale: scale, ..Chart::default() };
        let rows = Intervals { x_label: "steps".into(), scale, ..Intervals::default() };
        for svg in [chart.svg(), rows.drawing().svg()] {
            assert_eq!(svg.contains(">steps, logarithmic axis</text>"), scale == Scale::Log, "{svg}");
        }
    }
}

#[test]
fn a_long_label_stays_inside_the_picture() {
    let row = Row {
        name: "a name that needs a lot of room to the left".into(),
        note: String::new(),
        colour: Colour::new(0),
        low: 1.0,
        estimate: 2.0,
        high: 3.0,
        beyond: Beyond::Nothing,
    };
    let label = "something that is measured (median, 95% interval), and more of it".to_string();
    let rows = Intervals { rows: vec![row], x_label: label.clone(), ..Intervals::default() };
    let drawing = rows.drawing();
    let drawing::Piece::Text(text) = drawing.pieces.last().unwrap() else { panic!("{drawing:?}") };
    let half = drawing::width(&text.content, text.size) / 2.0;
    assert!(text.at[0] + half <= drawing.size[0] && text.at[0] - half >= 0.0, "{text:?}");
    assert_eq!(text.content, label);
}

#[test]
fn lines_lie_where_their_values_are() {
    let chart = Chart {
        series: vec![Series::line("s", Colour::new(0), [(0.0, 0.0), (10.0, 10.0)])],
        size: [520.0, 100.0],
        ..Chart::default()
    };
    // From the lower left to the upper right corner of the plot, whose height is 100.
    let svg = chart.svg();
    let path = svg.split(" d=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(path.starts_with("M0 100L") && path.ends_with(" 0"), "{path}");
}

#[test]
fn intervals_have_a_row_each() {
    let row = |name: &str, low, estimate, high| Row {
        name: name.into(),
        note: String::new(),
        colour: Colour::new(2),
        low,
        estimate,
        high,
        beyond: if high > 0.6 { Beyond::Upwards } else { Beyond::Nothing },
    };
    let intervals = Intervals {
        rows: vec![row("equivariant (14)", 0.2, 0.5, 0.7), row("b", f64::NAN, f64::NAN, f64::NAN)],
        lines: vec![Reference::new("chance", 0.5)],
        cover: vec![0.0, 1.0],
        ..Intervals::default()
    };
    let svg = intervals.drawing().svg();
    well_formed(&svg);
    assert!(!svg.contains('\u{2026}')); // the longest name has just the room it needs
    assert_eq!(count(&svg, "fig-interval"), 1);
    assert_eq!(count(&svg, "fig-point"), 1);
    assert_eq!(count(&svg, "fig-beyond"), 1);
    well_formed(&Intervals::default().drawing().inline());
}

#[test]
fn a_row_far_off_does_not_stretch_the_axis() {
    let row = |estimate, beyond| Row {
        name: "a".into(),
        note: "5 of 5 runs".into(),
        colour: Colour::new(0),
        low: estimate - 0.1,
        estimate,
        high: estimate + 0.1,
        beyond,
    };
    let draw = |far: f64| {
        let rows = vec![row(2.0, Beyond::Nothing), row(2.5, Beyond::Nothing), row(far, Beyond::All)];
        Intervals { rows, ..Intervals::default() }.drawing().svg()
    };
    for far in [-30.0, 30.0] {
        let svg = draw(far);
        well_formed(&svg);
        assert_eq!((count(&svg, "fig-point"), count(&svg, "fig-beyond")), (2, 1));
        assert!(svg.contains(&format!(">{far:.2}</text>")) && svg.contains(">2.4</text>"), "{svg}");
        assert_eq!(count(&svg, ">5 of 5 runs</text>"), 3);
    }
    // Where the axis goes anyway it is a row like the others.
    let near = draw(2.2);
    assert_eq!((count(&near, "fig-point"), count(&near, "fig-beyond")), (3, 0));
}

/// Every point has a dot and a bar of its own, beside those of others; a single point is a dot as ever.
#[test]
fn intervals_of_curves_may_be_bars() {
    let point = |x: f64| Point { x, low: 1.0, middle: 2.0, high: 3.0 };
    let series = [0, 1].map(|i| Series {
        name: format!("team {i}"),
        colour: Colour::new(i),
        points: vec![point(0.0), point(0.8)],
    });
    let bars = Chart { series: series.to_vec(), bars: true, ..Chart::default() }.svg();
    well_formed(&bars);
    assert_eq!((count(&bars, "fig-band"), count(&bars, "<circle")), (0, 4));
    let bands = Chart { series: series.to_vec(), ..Chart::default() }.svg();
    assert_eq!((count(&bands, "fig-band"), count(&bands, "<circle")), (2, 0));
}

#[test]
fn dark_pages_have_a_rule_for_every_colour() {
    let rules = dark_rules(".dark");
    assert!((0..12).all(|i| rules.contains(&format!(".dark .fig-c{i}{{"))), "{rules}");
    assert_eq!(Colour::new(12), Colour::new(0));
}

proptest! {
    // Pictures of dots take a while.
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn nothing_breaks_a_picture(
        points in proptest::collection::vec((proptest::num::f64::ANY, proptest::num::f64::ANY), 0..12),
        name in ".{0,40}",
    ) {
        let series = vec![Series::line(name.clone(), Colour::new(0), points)];
        let chart = Chart { title: name, series, y_range: Some((0.0, 1.0)), ..Chart::default() };
        prop_assert!(chart.drawing().png().len() > 1000);
    }
}

proptest! {
    #[test]
    fn nothing_breaks_a_chart(
        points in proptest::collection::vec((proptest::num::f64::ANY, proptest::num::f64::ANY), 0..12),
        line in proptest::num::f64::ANY,
        log: bool,
        name in ".{0,40}",
    ) {
        let chart = Chart {
            title: name.clone(),
            y_label: name.clone(),
            series: vec![
                Series::line(name.clone(), Colour::new(0), points.clone()),
                Series::quartiles(name.clone(), Colour::new(1), &[points.clone(), points], 7),
            ],
            lines: vec![Reference::new(name, line)],
            x_scale: if log { Scale::Log } else { Scale::Linear },
            ..Chart::default()
        };
        let svg = chart.svg();
        well_formed(&svg);
        prop_assert!(!svg.contains("NaN") || chart.title.contains("NaN"));
        prop_assert!(chart.drawing().pdf().ends_with(b"%%EOF\n"));
    }
}

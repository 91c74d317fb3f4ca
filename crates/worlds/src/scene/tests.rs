use super::*;
use proptest::prelude::*;
use serde_json::json;

#[test]
fn a_scene_is_compact_json() {
    let mut scene = Scene::new(3.0, 2.0);
    scene.add_rimmed(
        "block",
        Shape::Rect { corner: [0.0; 2], size: [1.0, 2.0], radius: 0.5 },
        Colour(1, 2, 255),
        Colour::INK,
        0.1,
    );
    scene.thing("Drone 0", Handle::drag("drone 0"), |scene| {
        scene.add("drone", Shape::Circle { centre: [1.5, 0.5], radius: 0.25 }, Colour::BLUE);
        scene.add(
            "number",
            Shape::Label { centre: [1.5, 0.5], height: 0.25, text: "0".into() },
            Colour::WHITE,
        );
    });
    scene.thing("A light", Handle::press("light 0"), |scene| {
        scene.add("red", Shape::Line { from: [0.0, 1.0], to: [1.0, 1.0], width: 0.5 }, Colour::VERMILLION);
    });
    scene.add("arrow", Shape::Polygon(vec![[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]]), Colour::SKY);
    scene.agents.push(AgentMark { at: [1.5, 0.5], radius: 0.5 });
    let value = json!({
        "size": [3.0, 2.0],
        "items": [
            { "name": "block", "shape": { "rect": { "corner": [0.0, 0.0], "size": [1.0, 2.0], "radius": 0.5 } },
              "fill": "#0102ff", "rim": ["#212b36", 0.1f32] },
            { "name": "drone", "shape": { "circle": { "centre": [1.5, 0.5], "radius": 0.25 } }, "fill": "#0072b2",
              "title": "Drone 0", "handle": { "id": "drone 0", "drag": true } },
            { "name": "number", "shape": { "label": { "centre": [1.5, 0.5], "height": 0.25, "text": "0" } },
              "fill": "#ffffff", "handle": { "id": "drone 0", "drag": true } },
            { "name": "red", "shape": { "line": { "from": [0.0, 1.0], "to": [1.0, 1.0], "width": 0.5 } },
              "fill": "#d55e00", "title": "A light", "handle": { "id": "light 0", "press": true } },
            { "name": "arrow", "shape": { "polygon": [[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]] }, "fill": "#56b4e9" },
        ],
        "agents": [{ "at": [1.5, 0.5], "radius": 0.5 }],
    });
    assert_eq!(serde_json::to_value(&scene).unwrap(), value);
    assert_eq!(serde_json::from_value::<Scene>(value).unwrap(), scene);
    assert_eq!(serde_json::to_string(&Scene::new(1.0, 1.0)).unwrap(), r#"{"size":[1.0,1.0],"items":[]}"#);
}

#[test]
fn marks_and_edits_are_compact_json() {
    let marks = vec![
        ActionMark::Stay,
        ActionMark::Arrow([0.0, 1.0]),
        ActionMark::Bar { from: [0.0; 2], to: [1.0; 2] },
    ];
    let text = r#"["stay",{"arrow":[0.0,1.0]},{"bar":{"from":[0.0,0.0],"to":[1.0,1.0]}}]"#;
    assert_eq!(serde_json::to_string(&marks).unwrap(), text);
    assert_eq!(serde_json::from_str::<Vec<ActionMark>>(text).unwrap(), marks);
    for (edit, text) in [
        (Edit::moved("drone 1", [0.5, 2.0]), r#"{"id":"drone 1","to":[0.5,2.0]}"#),
        (Edit::pressed("light 3"), r#"{"id":"light 3"}"#),
    ] {
        assert_eq!(serde_json::to_string(&edit).unwrap(), text);
        assert_eq!(serde_json::from_str::<Edit>(text).unwrap(), edit);
    }
}

#[test]
fn what_is_no_scene_is_refused_and_what_is_odd_is_tamed() {
    for (text, why) in [
        (r##"{"size":[1,1],"items":[{"name":"a","shape":{"blob":[]},"fill":"#000000"}]}"##, "blob"),
        (
            r#"{"size":[1,1],"items":[{"name":"a","shape":{"polygon":[]},"fill":"red"}]}"#,
            "\"red\" is no colour",
        ),
        (
            r##"{"size":[1,1],"items":[{"name":"a","shape":{"polygon":[]},"fill":"#12345é"}]}"##,
            "is no colour",
        ),
        (r#"{"size":[1,1],"items":[],"more":1}"#, "more"),
        (r#"{"size":[1],"items":[]}"#, "2"),
    ] {
        let error = serde_json::from_str::<Scene>(text).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let scene: Scene = serde_json::from_str(r#"{"size":[-5,1e30],"items":[]}"#).unwrap();
    assert_eq!(scene.size(), [1.0, 1e6]);
    assert_eq!(Scene::new(f32::NAN, f32::INFINITY).size(), [1.0, 1e6]);
}

#[test]
fn ids_have_one_spelling() {
    let number = |id: &str| Edit::pressed(id).number("drone");
    assert_eq!((number("drone 0"), number("drone 17")), (Some(0), Some(17)));
    for id in [
        "drone",
        "drone ",
        "drone  1",
        "drone +1",
        "drone 01",
        "drone -1",
        "drones 1",
        "drone 1 ",
        "drone x",
        "",
        "drone 99999999999999999999999999",
    ] {
        assert_eq!(number(id), None, "{id}");
    }
    let long = Edit::pressed("x\n".repeat(1000)).unknown("nothing").to_string();
    assert!(long.len() < 150 && !long.contains('\n'), "{long}");
}

#[test]
fn points_snap_to_the_nearest_cell() {
    let at = |x: f32, y: f32| cell_at([x, y], [2, 3], 0.4);
    assert_eq!(at(0.5, 0.5), Some([0, 0]));
    assert_eq!(at(2.9, 1.9), Some([1, 2]));
    // In the margin the border is nearest; outside of the picture nothing is.
    assert_eq!((at(0.0, 0.0), at(3.8, 2.8)), (Some([0, 0]), Some([1, 2])));
    for (x, y) in [(-0.1, 1.0), (3.9, 1.0), (1.0, -0.1), (1.0, 2.9), (f32::NAN, 1.0), (f32::INFINITY, 1.0)] {
        assert_eq!(at(x, y), None, "{x} {y}");
    }
    assert_eq!(cell_at([0.1, 0.1], [0, 3], 0.4), None);
}

proptest! {
    #[test]
    fn colours_are_read_as_written(r: u8, g: u8, b: u8, text in "#?[0-9a-gA-F]{0,7}") {
        let colour = Colour(r, g, b);
        let written = serde_json::to_string(&colour).unwrap();
        prop_assert_eq!(serde_json::from_str::<Colour>(&written).unwrap(), colour);
        let read = serde_json::from_value::<Colour>(json!(text));
        let is_colour = text.len() == 7 && text.starts_with('#') && !text.contains('g');
        prop_assert_eq!(read.is_ok(), is_colour);
    }

    #[test]
    fn numbers_are_read_as_written(x: f32, y: f32, height: f32) {
        prop_assume!(x.is_finite() && y.is_finite() && height.is_finite());
        let mut scene = Scene::new(2.0, 2.0);
        scene.add(String::from("any"), Shape::Label { centre: [x, y], height, text: "a\"b\n".into() }, Colour::INK);
        let text = serde_json::to_string(&scene).unwrap();
        prop_assert_eq!(serde_json::from_str::<Scene>(&text).unwrap(), scene);
    }
}

use super::*;
use equimarl_worlds::scene::{Colour, Scene, Shape};
use equimarl_worlds::{End, Exact, Purpose, Stream, Traffic, TrafficOptions, Wildlife, World, uniform};
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;

/// A folder of its own for each test, gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("equimarl-render-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn files(&self) -> Vec<String> {
        fs::read_dir(&self.0).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The world after some random steps.
fn moved<W: Exact>(mut world: W, steps: usize) -> W {
    let mut stream = Stream::new(7, Purpose::Audit, 0);
    world.reset(&mut stream).unwrap();
    let mut actions = vec![0; world.agents()];
    for _ in 0..steps {
        uniform(&world, &mut stream, &mut actions);
        if world.step(&actions, &mut stream).unwrap().end != End::Running {
            break;
        }
    }
    world
}

fn drones(team: usize, grid: usize) -> Wildlife {
    moved(Wildlife::new(team, grid).unwrap(), 5)
}

fn city(rows: usize, cols: usize) -> Traffic {
    moved(Traffic::new(TrafficOptions { rows, cols, ..TrafficOptions::default() }).unwrap(), 60)
}

/// Checks that every tag is closed and nested, and gives the names of all elements.
fn elements(svg: &str) -> Vec<String> {
    let (mut open, mut all) = (Vec::new(), Vec::new());
    for tag in svg.split('<').skip(1) {
        let (inside, text) = tag.split_once('>').expect("a tag ends");
        assert!(!text.contains('>') && !inside.contains('&'), "{tag}");
        assert_eq!(inside.matches('"').count() % 2, 0, "{tag}");
        if let Some(name) = inside.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let name = inside.split([' ', '/']).next().unwrap().to_string();
        if !inside.ends_with('/') {
            open.push(name.clone());
        }
        all.push(name);
    }
    assert!(open.is_empty(), "{open:?} stay open");
    all
}

#[test]
fn every_drone_and_the_poacher_are_in_the_picture() {
    for (team, grid) in [(2, 3), (4, 7), (12, 9)] {
        let scene = drones(team, grid).scene().unwrap();
        let svg = svg(&scene.caption("step 3 <&> \u{1}return"));
        elements(&svg);
        assert_eq!(svg.matches("class=\"drone\"").count(), team);
        assert!(svg.contains("step 3 &lt;&amp;&gt;  return"));
        assert!((0..team).all(|i| svg.contains(&format!(">{i}</text>"))));
    }
}

#[test]
fn every_vehicle_and_light_is_in_the_picture() {
    for (rows, cols) in [(1, 1), (2, 2), (3, 2)] {
        let world = city(rows, cols);
        let svg = svg(&world.scene().unwrap());
        for (class, count) in
            [("vehicle", world.inside()), ("red", 2 * rows * cols), ("green", 2 * rows * cols)]
        {
            assert_eq!(svg.matches(&format!("class=\"{class}\"")).count(), count);
        }
        assert_eq!(
            elements(&svg).iter().filter(|&e| e == "polygon").count(),
            world.inside() + 8 * rows * cols
        );
    }
}

#[test]
fn large_worlds_keep_their_size_in_the_picture() {
    for scene in [city(100, 100).scene(), city(1, 40).scene(), drones(300, 501).scene()] {
        let scene = scene.unwrap().caption("far away");
        let svg = svg(&scene);
        let number =
            |key: &str| svg.split(key).nth(1).unwrap().split('"').next().unwrap().parse::<f32>().unwrap();
        assert!(number("width=\"").max(number("height=\"")) <= 1200.0);
        assert!(svg.len() < 4_000_000, "{} bytes", svg.len());
        let pixels = raster::pixels(&scene, [scene.scale(640.0, 64.0); 2]).unwrap();
        assert_eq!(pixels.colours.len(), pixels.width * pixels.height);
        assert!(pixels.width.max(pixels.height) <= 640);
    }
}

/// Plays a film back: the delay of each frame, and the picture after each.
fn played(bytes: &[u8]) -> (usize, usize, Vec<u16>, Vec<Vec<Colour>>) {
    let mut options = ::gif::DecodeOptions::new();
    options.set_color_output(::gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(bytes).unwrap();
    let (width, height) = (usize::from(decoder.width()), usize::from(decoder.height()));
    let mut canvas = vec![Colour(0, 0, 0); width * height];
    let (mut delays, mut pictures) = (Vec::new(), Vec::new());
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        for (k, rgba) in frame.buffer.chunks(4).enumerate() {
            let (x, y) = (k % usize::from(frame.width), k / usize::from(frame.width));
            if rgba[3] > 0 {
                let at = (usize::from(frame.top) + y) * width + usize::from(frame.left) + x;
                canvas[at] = Colour(rgba[0], rgba[1], rgba[2]);
            }
        }
        delays.push(frame.delay);
        pictures.push(canvas.clone());
    }
    (width, height, delays, pictures)
}

/// Films a few steps and gives the file's bytes and the pictures that went in.
fn filmed<W: Exact>(world: &W, folder: &Folder, name: &str) -> (Vec<u8>, Vec<raster::Pixels>) {
    let path = folder.0.join(name);
    let mut film = GifWriter::create(&path).unwrap();
    let mut pictures = Vec::new();
    for step in [0, 1, 2, 2, 30] {
        let scene = moved(world.clone(), step).scene().unwrap().caption(format!("step {step}"));
        film.frame(&scene).unwrap();
        pictures.push(raster::pixels(&scene, [scene.scale(640.0, 64.0); 2]).unwrap());
    }
    assert!(!path.exists(), "a film appears when it is complete");
    film.finish().unwrap();
    (fs::read(path).unwrap(), pictures)
}

fn plays_back<W: Exact>(world: &W, name: &str) {
    let folder = Folder::new(name);
    let (bytes, pictures) = filmed(world, &folder, "one.gif");
    let (width, height, delays, frames) = played(&bytes);
    assert_eq!((width, height), (pictures[0].width, pictures[0].height));
    assert_eq!(delays, [20, 20, 20, 20, 200]);
    for (frame, picture) in frames.iter().zip(&pictures) {
        // Shades at edges may be replaced by near ones; surfaces are exact.
        let off =
            |(a, b): (&Colour, &Colour)| a.0.abs_diff(b.0).max(a.1.abs_diff(b.1)).max(a.2.abs_diff(b.2));
        let exact = frame.iter().zip(&picture.colours).filter(|(a, b)| a == b).count();
        assert!(exact * 100 > 98 * frame.len(), "{exact} of {}", frame.len());
        assert!(frame.iter().zip(&picture.colours).all(|pair| off(pair) < 48));
    }
    assert_eq!(filmed(world, &folder, "two.gif").0, bytes, "the same states give the same bytes");
    assert_eq!(folder.files().len(), 2);
}

#[test]
fn a_wildlife_film_plays_back() {
    plays_back(&Wildlife::new(4, 7).unwrap(), "wildlife");
}

#[test]
fn a_traffic_film_plays_back() {
    plays_back(&Traffic::new(TrafficOptions::default()).unwrap(), "traffic");
}

#[test]
fn what_cannot_be_written_is_an_error_and_leaves_nothing_behind() {
    let folder = Folder::new("errors");
    let scene = drones(3, 7).scene().unwrap();
    let missing = folder.0.join("no/such/folder/film.gif");
    let error = GifWriter::create(&missing).err().unwrap().to_string();
    assert!(error.contains("film.gif") && error.starts_with("cannot write"), "{error}");
    assert!(save_svg(&scene, &missing).is_err());
    assert!(save_svg(&scene, &folder.0).unwrap_err().to_string().contains("folder"));
    assert!(save_svg(&scene, "").is_err());

    let path = folder.0.join("film.gif");
    assert!(GifWriter::create(&path).unwrap().finish().is_err());
    let mut film = GifWriter::create(&path).unwrap();
    film.frame(&scene).unwrap();
    let error = film.frame(&scene.clone().caption("longer")).unwrap_err().to_string();
    assert!(error.contains("does not fit a film"), "{error}");
    drop(film);
    assert!(folder.files().is_empty(), "{:?}", folder.files());
}

#[test]
fn pictures_of_equal_states_are_equal() {
    let folder = Folder::new("equal");
    let world = city(2, 2);
    let mut again = city(2, 2);
    again.load(&world.save()).unwrap();
    for (name, world) in [("a.svg", &world), ("b.svg", &again)] {
        save_svg(&world.scene().unwrap(), folder.0.join(name)).unwrap();
    }
    let bytes = |name: &str| fs::read(folder.0.join(name)).unwrap();
    assert_eq!(bytes("a.svg"), bytes("b.svg"));
    let text = |world: &Traffic| terminal(&world.scene().unwrap(), true).unwrap();
    assert_eq!(text(&world), text(&again));
}

#[test]
fn a_scene_that_went_through_json_is_the_same_picture() {
    for scene in [drones(4, 7).scene().unwrap(), city(2, 3).scene().unwrap()] {
        let text = serde_json::to_string(&scene).unwrap();
        assert_eq!(svg(&serde_json::from_str(&text).unwrap()), svg(&scene));
    }
}

/// Some shapes on paper.
fn still() -> Scene {
    let mut scene = Scene::new(4.0, 3.0);
    scene.add("square", Shape::Rect { corner: [0.0; 2], size: [1.0; 2], radius: 0.0 }, Colour(200, 0, 0));
    scene.add(
        "text",
        Shape::Label { centre: [3.0, 1.5], height: 0.4, text: "ab\x1b[2J".into() },
        Colour::INK,
    );
    scene
}

#[test]
fn any_scene_is_text_without_colours() {
    let text = terminal(&still(), false).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    // Six columns and three lines a cell.
    assert_eq!(lines, ["██████", "██████", "██████", "", "               ab [2J", "", "", "", ""]);
}

#[test]
fn any_scene_is_text_in_colours() {
    let text = terminal(&still(), true).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 9);
    assert!(
        lines[0].starts_with("\x1b[38;2;200;0;0;48;2;200;0;0m▀▀▀▀▀▀\x1b[38;2;252;252;250;48;2;252;252;250m▀")
    );
    assert!(lines.iter().all(|line| line.ends_with("\x1b[0m")));
    assert!(lines[4].contains("\x1b[38;2;33;43;54;48;2;252;252;250mab [2J"), "{}", lines[4]);
    assert!(!text.contains("\x1b[2J"));
}

#[test]
fn text_fits_a_screen() {
    for scene in [city(100, 100).scene(), city(1, 40).scene(), drones(3, 7).scene(), drones(300, 501).scene()]
    {
        let scene = scene.unwrap().caption("far away");
        let text = terminal(&scene, false).unwrap();
        assert!(text.lines().count() <= 37 && text.lines().all(|line| line.chars().count() <= 79), "{text}");
        assert!(text.contains("far away"), "{text}");
        let coloured = terminal(&scene, true).unwrap();
        assert_eq!(coloured.lines().count(), text.lines().count());
    }
    let text = terminal(&drones(4, 7).scene().unwrap(), false).unwrap();
    assert!((0..4).all(|drone| text.contains(&drone.to_string())), "{text}");
}

#[test]
fn names_stay_inside_of_their_attribute() {
    let mut scene = Scene::new(1.0, 1.0);
    let disc = Shape::Circle { centre: [0.5; 2], radius: 0.2 };
    scene.add(String::from("a\" onload=\"x<&"), disc, Colour::INK);
    assert!(svg(&scene).contains("class=\"a&quot; onload=&quot;x&lt;&amp;\""));
}

/// Numbers that a scene should not have, and some that it may.
fn odd() -> impl Strategy<Value = f32> {
    prop_oneof![
        -5f32..5.0,
        Just(0.0),
        Just(f32::NAN),
        Just(f32::INFINITY),
        Just(-f32::INFINITY),
        Just(f32::MAX),
        Just(f32::MIN_POSITIVE),
        any::<f32>()
    ]
}

proptest! {
    /// A scene may come from anywhere, so whatever it holds is drawn or refused.
    #[test]
    fn odd_scenes_are_no_reason_to_panic(
        size in [odd(), odd()],
        shapes in prop::collection::vec((0usize..5, prop::array::uniform6(odd()), ".{0,9}"), 0..6),
    ) {
        let mut scene = Scene::new(size[0], size[1]);
        for (kind, [a, b, c, d, e, f], text) in shapes {
            let shape = match kind {
                0 => Shape::Rect { corner: [a, b], size: [c, d], radius: e },
                1 => Shape::Circle { centre: [a, b], radius: c },
                2 => Shape::Polygon(vec![[a, b], [c, d], [e, f]]),
                3 => Shape::Line { from: [a, b], to: [c, d], width: e },
                _ => Shape::Label { centre: [a, b], height: c, text: text.clone() },
            };
            scene.add_rimmed(text, shape, Colour::BLUE, Colour::INK, f);
        }
        let _ = svg(&scene);
        for colour in [false, true] {
            let _ = terminal(&scene, colour);
        }
        let _ = raster::pixels(&scene, [scene.scale(640.0, 64.0); 2]);
    }
}

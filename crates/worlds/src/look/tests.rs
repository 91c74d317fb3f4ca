use super::*;
use crate::{Controller, End, Purpose, Stream, Traffic, TrafficOptions, Uniform, Wildlife, World};
use std::fs;
use std::path::PathBuf;

/// A folder of its own for each test, gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("equimarl-look-{name}-{}", std::process::id()));
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
fn moved<W: World>(mut world: W, steps: usize) -> W {
    let mut stream = Stream::new(7, Purpose::Audit, 0);
    world.reset(&mut stream);
    let mut actions = vec![0; world.agents()];
    for _ in 0..steps {
        Uniform.act(&world, &mut stream, &mut actions);
        let chance = world.draw(&mut stream);
        if world.step(&actions, &chance).end != End::Running {
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
        assert_eq!((scene.count("drone"), scene.count("poacher")), (team, 1));
        let svg = svg(&scene.caption("step 3 <&> \u{1}return"));
        elements(&svg);
        assert_eq!(svg.matches("class=\"drone\"").count(), team);
        assert!(svg.contains("step 3 &lt;&amp;&gt;  return"));
        assert!((0..team).all(|i| svg.contains(&format!(">{i}</text>"))));
    }
}

#[test]
fn links_are_those_of_the_communication_graph() {
    let mut world = Wildlife::new(3, 7).unwrap();
    // On the torus the first and the last are adjacent; they do not hear each other.
    world.place(&[[0, 0], [4, 0], [6, 6]], [3, 3], 0).unwrap();
    assert_eq!(world.scene().unwrap().count("link"), 1);
    assert!(world.terminal(false).contains("links: 0-1\n"));
    assert_eq!(city(2, 3).scene().unwrap().count("link"), 7);
}

#[test]
fn arrows_show_what_the_drones_wanted() {
    let world = drones(4, 7);
    assert_eq!(world.scene().unwrap().count("heading"), 0);
    // Too few actions, or ones that do not exist, are no reason to fail: the picture is for looking.
    for (actions, arrows) in [(&[0, 1, 2, 3][..], 3), (&[4], 1), (&[9, 9, 9, 9], 0)] {
        assert_eq!(world.scene_after(actions).unwrap().count("heading"), arrows);
    }
}

#[test]
fn every_vehicle_and_light_is_in_the_picture() {
    for (rows, cols) in [(1, 1), (2, 2), (3, 2)] {
        let world = city(rows, cols);
        let scene = world.scene().unwrap();
        assert!(rows == 1 || world.inside() > 5);
        assert_eq!(scene.count("vehicle"), world.inside());
        assert_eq!(scene.count("brake"), world.vehicles().iter().filter(|v| v.marked).count());
        assert_eq!((scene.count("red"), scene.count("green")), (2 * rows * cols, 2 * rows * cols));
        let svg = svg(&scene);
        assert_eq!(
            elements(&svg).iter().filter(|&e| e == "polygon").count(),
            world.inside() + 8 * rows * cols
        );
    }
}

#[test]
fn lanes_in_the_picture_are_lanes_of_the_world() {
    let world = city(2, 3);
    let mut lanes = 0;
    for item in world.scene().unwrap().items().iter().filter(|item| item.name == "lane") {
        let Shape::Rect { corner: [x, y], size: [w, h], .. } = item.shape else { panic!("{item:?}") };
        for k in 0..w.max(h) as usize {
            let (dx, dy) = if w > h { (k, 0) } else { (0, k) };
            assert!(world.is_lane((y - 0.4) as usize + dy, (x - 0.4) as usize + dx));
        }
        lanes += 1;
    }
    assert_eq!(lanes, 10);
}

#[test]
fn a_red_light_is_on_the_stop_line() {
    let mut world = city(1, 1);
    for (phase, stopped) in [(0, [[2.4, 2.9], [5.4, 4.9]]), (1, [[2.9, 5.4], [4.9, 2.4]])] {
        world.set_phases(&[phase]).unwrap();
        let scene = world.scene().unwrap();
        let bars = scene.items().iter().filter(|item| item.name == "red");
        for (item, stop) in bars.zip(stopped) {
            let Shape::Line { from, to, .. } = item.shape else { panic!("{item:?}") };
            let middle = [0, 1].map(|k| (from[k] + to[k]) / 2.0);
            assert!((0..2).all(|k| (middle[k] - stop[k]).abs() < 0.2), "{middle:?} is not {stop:?}");
        }
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
        let pixels = raster::pixels(&scene, scene.scale(640.0, 64.0)).unwrap();
        assert_eq!(pixels.colours.len(), pixels.width * pixels.height);
        assert!(pixels.width.max(pixels.height) <= 640);
    }
    let error = city(1, 200).scene().unwrap_err().to_string();
    assert!(error.contains("7 x 1599 cells"), "{error}");
    let error = Wildlife::new(500_000, 1001).unwrap().scene().unwrap_err().to_string();
    assert!(error.contains("500000"), "{error}");
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
fn filmed<W: World + Look>(world: &W, folder: &Folder, name: &str) -> (Vec<u8>, Vec<raster::Pixels>) {
    let path = folder.0.join(name);
    let mut film = GifWriter::create(&path).unwrap();
    let mut pictures = Vec::new();
    for step in [0, 1, 2, 2, 30] {
        let scene = moved(world.clone(), step).scene().unwrap().caption(format!("step {step}"));
        film.frame(&scene).unwrap();
        pictures.push(raster::pixels(&scene, scene.scale(640.0, 64.0)).unwrap());
    }
    assert!(!path.exists(), "a film appears when it is complete");
    film.finish().unwrap();
    (fs::read(path).unwrap(), pictures)
}

fn plays_back<W: World + Look>(world: &W, name: &str) {
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
    assert_eq!(world.terminal(true), again.terminal(true));
}

#[test]
fn the_terminal_shows_every_drone() {
    for (team, grid) in [(3, 7), (11, 9)] {
        let world = drones(team, grid);
        let plain = world.terminal(false);
        assert!(plain.contains('x') && !plain.contains('\x1b'));
        assert!((0..team).all(|i| plain.split([' ', '│', 'x']).any(|word| word == i.to_string())), "{plain}");
        let widths: Vec<usize> = plain.lines().take(grid + 2).map(|l| l.chars().count()).collect();
        assert!(widths.iter().all(|&w| w == widths[0]), "{plain}");
        assert!(world.terminal(true).contains("\x1b["));
    }
    let mut world = Wildlife::new(2, 3).unwrap();
    world.place(&[[0, 0], [0, 1]], [0, 0], 1).unwrap();
    assert!(world.terminal(false).contains("│x0  1  · │"), "{}", world.terminal(false));
    assert!(drones(4, 101).terminal(false).lines().count() < 40);
}

#[test]
fn the_terminal_shows_every_vehicle() {
    let world = city(2, 3);
    let plain = world.terminal(false);
    assert_eq!(plain.lines().count(), 15);
    assert_eq!(plain.chars().filter(|c| "▶▷◀◁▲△▼▽".contains(*c)).count(), world.inside());
    assert!((0..6).all(|junction| plain.contains(&junction.to_string())));
    let far = city(100, 100).terminal(false);
    assert_eq!(far.chars().filter(|c| "│─".contains(*c)).count(), 10_000);
    assert!(city(1, 200).terminal(true).contains("cut off"));
}

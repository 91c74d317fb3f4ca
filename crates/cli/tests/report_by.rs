//! `equimarl report --by` and `--list-rates` as a user meets them.

mod common;

use common::{equimarl, folder, json, refuses};

/// A sweep of tiny runs: two methods, two winds, two rates, two seeds.
const SWEEP: &str = "name = 'winds'\npreset = 'paper'\n[settings]\nsteps = 1600\nevaluate_every = 0\nevaluate_episodes = 2\n\
    log_every = 80\n[[grid]]\nmethod = ['equivariant', 'plain']\nlearning_rate = [1e-3, 3e-3]\nseed = '1-2'\n\
    world = [{ name = 'wildlife' }, { name = 'wildlife', wind = 0.4 }]\n";

#[test]
fn teams_over_a_number_and_all_rates() {
    let home = folder("report-by");
    let place = |name: &str| home.join(name).display().to_string();
    std::fs::write(home.join("winds.toml"), SWEEP).unwrap();
    json(&["sweep", &place("winds.toml"), "--out", &place("winds")]);
    let (runs, out) = (place("winds"), place("out"));
    let value =
        json(&["report", &runs, "--out", &out, "--by", "wind", "--by-after", "800", "--rates-by", "end"]);
    let over = &value["by"][0];
    assert_eq!(
        (over["name"].as_str(), &over["values"]),
        (Some("wildlife by wind"), &serde_json::json!([0.0, 0.4]))
    );
    assert_eq!((over["relative"].as_bool(), over["after"].as_u64()), (Some(true), Some(800)));
    assert_eq!(over["teams"][1]["points"][1]["end"]["scores"].as_array().unwrap().len(), 2);
    assert_eq!(over["crossings"].as_array().unwrap().len(), 2);
    for figure in ["end", "after-800"] {
        assert!(home.join(format!("out/wildlife-by-wind-{figure}.svg")).exists(), "{figure}");
    }
    // What steps cost is beside the curves.
    for figure in ["curves", "seconds", "multiply-adds"] {
        assert!(home.join(format!("out/wildlife-3-drones-{figure}.png")).exists(), "{figure}");
    }
    let costs = &value["settings"][0]["costs"];
    assert_eq!(costs["teams"][1]["multiply_adds"].as_f64(), Some(13.0 * 3.0 * 267_904.0));
    assert!(costs["timed_on"].is_string() && costs["teams"][0]["seconds"]["median"].as_f64().unwrap() > 0.0);
    // Some seeds only, and it is said how many runs have others.
    let some = json(&["report", &runs, "--by", "wind", "--seeds", "2", "--rates-by", "end"]);
    assert_eq!(some["by"][0]["teams"][1]["points"][1]["end"]["scores"].as_array().unwrap().len(), 1);
    assert_eq!(some["settings"][0]["teams"][0]["seeds"], serde_json::json!([2]));
    assert!(
        some["notes"].to_string().contains("8 runs have other seeds than were asked for, and are left out"),
        "{}",
        some["notes"]
    );
    refuses(&["report", &runs, "--seeds", "7-9"], "none of the 16 runs has one of these seeds");
    refuses(&["report", &runs, "--seeds", "few"], "cannot read the seeds `few`");
    // Every rate with every seed.
    assert_eq!(value["choice"][0]["rates"][1]["areas"].as_array().unwrap().len(), 2);
    let output =
        equimarl(&["report", &runs, "--out", &out, "--by", "wind", "--rates-by", "end", "--list-rates"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in
        ["wildlife by wind: greedy return at the end", "plain overtakes equivariant at the end at wind"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(text.matches("| wildlife, 3 drones").count(), 8, "{text}");
    refuses(
        &["report", &runs, "--out", &out, "--by", "wnd"],
        "has a number called `wnd`; there are drones, grid, wind",
    );
}

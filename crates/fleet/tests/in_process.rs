//! A fleet in one process decides as the whole network does, locally, under faults, and the same on any number of threads.

mod common;

use common::{drones, folder, junctions};
use equimarl_fleet::audit::Recording;
use equimarl_fleet::{Fallback, Fate, Faults, Header, Member, MessageKind, MessageLog, RunPlan, pool};
use equimarl_learn::Learned;
use equimarl_nn::{Choice, Network};
use equimarl_worlds::{Purpose, Stream, Summary, WorldConfig, builtin, play};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

fn plan(episodes: u32, seed: u64) -> RunPlan {
    RunPlan { episodes, seed, ..RunPlan::default() }
}

#[test]
fn drones_play_the_very_episodes_that_the_whole_network_plays() {
    let team = drones(4);
    let (mut envs, choice) = (team.envs(), equimarl_learn::Choice::Sampled);
    let mut learned = Learned::new((*team.policy).clone(), &team.sharing, choice, &*envs).unwrap();
    let expected = play(&mut *envs, &mut learned, 10, 3).unwrap();
    let mut host = team.host(plan(10, 3));
    pool::run(&mut host, team.agents(), &Faults::default(), None, 1, &mut |_, _| Ok(true)).unwrap();
    assert_eq!(Summary::of(host.episodes(), host.spec()), expected);
    let report = host.report();
    assert!(report.expected > 0 && report.missed == 0 && report.absent == 0 && report.dropped.total() == 0);
    assert_eq!(report.refused.total(), 0);
}

#[test]
fn junctions_play_the_very_episodes_that_the_whole_network_plays() {
    let team = junctions(2, 3);
    let (mut envs, choice) = (team.envs(), equimarl_learn::Choice::Greedy);
    let mut learned = Learned::new((*team.policy).clone(), &team.sharing, choice, &*envs).unwrap();
    let expected = play(&mut *envs, &mut learned, 3, 3).unwrap();
    let mut host = team.host(RunPlan { choice: Choice::Greedy, ..plan(3, 3) });
    pool::run(&mut host, team.agents(), &Faults::default(), None, 1, &mut |_, _| Ok(true)).unwrap();
    assert_eq!(Summary::of(host.episodes(), host.spec()), expected);
}

#[test]
fn a_record_shows_that_messages_flow_along_edges_and_decisions_are_the_same() {
    let team = drones(4);
    let folder = folder("record");
    let log = MessageLog::new(&folder.join("fleet.jsonl")).unwrap();
    log.about(&json!({ "seed": 8, "greedy": false }));
    let mut host = team.host(plan(6, 8));
    let faults = Faults { drop: 0.02, ..Faults::default() };
    pool::run(&mut host, team.agents(), &faults, Some(log.clone()), 1, &mut |_, _| Ok(true)).unwrap();
    log.flush().unwrap();
    let found = Recording::load(&folder).unwrap().audit(&team.policy, &mut *team.envs()).unwrap();
    assert!(found.sent > 500 && found.steps == host.report().steps, "{found:?}");
    assert!(found.received < found.sent && found.received > found.sent * 9 / 10, "{found:?}");
    assert!(found.compared > 0 && found.compared < found.steps, "some steps had losses: {found:?}");
    assert!(found.holds(1e-5), "{found:?}");

    // A message to somebody else, and a record of another seed, are found.
    let text = std::fs::read_to_string(folder.join("fleet.jsonl")).unwrap();
    let line = text.lines().find(|l| l.contains("features")).unwrap();
    let from = line.split("\"from\":\"").nth(1).unwrap().split('"').next().unwrap();
    let to = line.split("\"to\":\"").nth(1).unwrap().split('"').next().unwrap();
    let astray = line.replace(&format!("\"to\":\"{to}\""), &format!("\"to\":\"{from}\""));
    std::fs::write(folder.join("z.jsonl"), astray + "\n").unwrap();
    let found = Recording::load(&folder).unwrap().audit(&team.policy, &mut *team.envs()).unwrap();
    assert!(found.off_edge == 1 && !found.holds(1e-5), "{found:?}");
    std::fs::remove_file(folder.join("z.jsonl")).unwrap();
    std::fs::write(folder.join("fleet.jsonl"), text.replace("\"seed\":8", "\"seed\":9")).unwrap();
    assert!(!Recording::load(&folder).unwrap().audit(&team.policy, &mut *team.envs()).unwrap().replayed);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_record_of_the_first_house_holds_as_it_did() {
    let house = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/first-house");
    let record = Recording::load(&house.join("fleet/recording")).unwrap();
    let file = house.join(record.about["model"].as_str().unwrap());
    let (network, _) = Network::load(&file).unwrap();
    let fingerprint = equimarl_nn::model::fnv1a(&std::fs::read(&file).unwrap());
    assert_eq!(record.about["fingerprint"], format!("{fingerprint:016x}"));
    let world: WorldConfig = serde_json::from_value(record.about["config"].clone()).unwrap();
    let mut envs = builtin().make(&world, network.group(), 1).unwrap();
    let found = record.audit(&network.policy().unwrap(), &mut *envs).unwrap();
    let text = std::fs::read_to_string(house.join("fleet/checked.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        json!({
            "holds": found.holds(1e-5),
            "sent": found.sent,
            "received": found.received,
            "off_edge": found.off_edge,
            "steps": found.steps,
            "compared": found.compared,
            "largest_difference": found.difference,
            "other_actions": found.other_actions,
            "replayed": found.replayed,
        }),
        expected
    );
}

#[test]
fn the_number_of_threads_and_the_order_of_arrival_change_no_bit() {
    let team = junctions(6, 6);
    let ms = Duration::from_millis;
    let faults = Faults { drop: 0.1, delay: ms(2), jitter: ms(300), ..Faults::default() };
    let plan = RunPlan { deadline: ms(200), ..plan(1, 4) };
    let (one, first) = team.moments(plan, &faults, 1);
    let (three, second) = team.moments(plan, &faults, 3);
    assert!(one.report().missed > 0 && one.report().dropped.total() > 0, "some were lost, some late");
    assert_eq!(first, second);
    assert_eq!(one.episodes(), three.episodes());
    assert_eq!(one.report().dropped, three.report().dropped);
}

#[test]
fn losses_are_counted_and_an_absent_neighbour_is_left_out_of_the_mean() {
    let team = junctions(2, 2);
    let all = Faults { drop: 1.0, ..Faults::default() };
    let (host, moments) = team.moments(plan(1, 1), &all, 1);
    let report = host.report();
    assert_eq!(report.missed, report.expected);
    assert_eq!(report.cut_off, 4 * report.steps);
    // Who hears nobody decides as the network does for an agent without neighbours.
    let (mut envs, policy) = (team.envs(), &team.policy);
    envs.start(0, Stream::new(1, Purpose::Evaluation, 0)).unwrap();
    let (mut scratch, mut own, mut mixed) = Default::default();
    let mut image = vec![0.0; envs.spec().image.unwrap().iter().product()];
    envs.world(0).observe(2, &mut image);
    policy.encode(&image, &mut scratch, &mut own).unwrap();
    for l in 0..policy.rounds() {
        policy.round(l, &own, &[], &[], &mut scratch, &mut mixed).unwrap();
        std::mem::swap(&mut own, &mut mixed);
    }
    let said = moments[0].said[2].as_ref().unwrap();
    assert_eq!(said.log_probabilities, policy.decide(&own).unwrap().log_probabilities);
}

#[test]
fn a_lost_message_costs_no_other_message() {
    let team = junctions(3, 3);
    let faults = Faults { drop: 0.1, ..Faults::default() };
    let (host, moments) = team.moments(plan(1, 1), &faults, 1);
    // Who waited in vain in the first round is still heard in the second.
    let lost = |m: &equimarl_fleet::Moment| -> u32 {
        let mut lost = 0;
        for &(receiver, sender) in &m.edges {
            for round in 0..team.policy.rounds() as u8 {
                let (sender, receiver) = (Member::agent(sender as usize), Member::agent(receiver as usize));
                let header = Header {
                    kind: MessageKind::Features,
                    run: [0; 16],
                    place: m.place,
                    round,
                    sender,
                    receiver,
                };
                lost += u32::from(faults.fate(&header) == Fate::Lost);
            }
        }
        lost
    };
    let missed: Vec<u32> = moments.iter().map(|m| m.said.iter().flatten().map(|s| s.missed).sum()).collect();
    assert_eq!(missed, moments.iter().map(lost).collect::<Vec<u32>>());
    assert!(host.report().missed > 50);
}

#[test]
fn a_partition_separates_and_a_fixed_cycle_takes_over() {
    let team = junctions(1, 4);
    let partition = Faults::parse_partition("0|1,2,3").unwrap();
    let faults = Faults { partition, ..Faults::default() };
    let mut host = team.host(plan(1, 2));
    let fallback = Fallback::named("fixed-cycle", host.spec()).unwrap();
    let agents = team.agents().into_iter().map(|a| a.with_fallback(fallback)).collect();
    let mut moments = vec![];
    pool::run(&mut host, agents, &faults, None, 1, &mut |_, moment| {
        moments.extend(moment);
        Ok(true)
    })
    .unwrap();
    for moment in &moments {
        let cut: Vec<bool> = moment.said.iter().map(|said| said.as_ref().unwrap().cut_off).collect();
        assert_eq!(cut, [true, false, false, false]);
        assert_eq!(moment.actions.choices[0], moment.place.step as usize / 4 % 2);
        assert_eq!(moment.said[1].as_ref().unwrap().missed, 2, "one neighbour of two, in two rounds");
    }
}

#[test]
fn a_crashed_agent_holds_still_is_not_waited_for_and_comes_back() {
    let team = junctions(2, 2);
    let mut host = team.host(plan(3, 2));
    let mut agents = team.agents();
    let index = 2;
    let fresh = agents.remove(index).with_crash(Some(10));
    agents.insert(index, fresh);
    let mut moments = vec![];
    pool::run(&mut host, agents, &Faults::default(), None, 1, &mut |_, moment| {
        moments.extend(moment);
        Ok(true)
    })
    .unwrap();
    for moment in &moments {
        let there = moment.said[index].is_some();
        assert_eq!(there, moment.place.step < 10, "{:?}", moment.place);
        assert!(moment.said[3].is_some());
    }
    let held: Vec<usize> = moments.iter().map(|m| m.actions.choices[index]).collect();
    assert!(
        moments
            .windows(2)
            .zip(held.windows(2))
            .all(|(m, held)| { m[1].place.step < 10 || m[1].place.step == 0 || held[0] == held[1] })
    );
    assert_eq!(host.report().rejoined, 2, "once per episode after the first");
    assert_eq!(host.episodes().len(), 3);
}

#[test]
fn late_messages_are_treated_like_lost_ones() {
    let team = junctions(2, 2);
    let ms = Duration::from_millis;
    let plan = RunPlan { deadline: ms(50), ..plan(1, 1) };
    let late = Faults { delay: ms(60), ..Faults::default() };
    let lost = Faults { drop: 1.0, ..Faults::default() };
    let (slow, after) = team.moments(plan, &late, 1);
    let (_, never) = team.moments(plan, &lost, 1);
    assert_eq!(slow.report().missed, slow.report().expected);
    assert!(slow.report().dropped.of(equimarl_fleet::Reason::Late) > 0);
    let actions = |moments: &[equimarl_fleet::Moment]| -> Vec<Vec<usize>> {
        moments.iter().map(|m| m.actions.choices.clone()).collect()
    };
    assert_eq!(actions(&after), actions(&never));
    // In time, everything is as without delay.
    let soon = Faults { delay: ms(40), ..Faults::default() };
    let (quick, within) = team.moments(plan, &soon, 1);
    let (_, at_once) = team.moments(plan, &Faults::default(), 1);
    assert_eq!(quick.report().missed, 0);
    assert_eq!(actions(&within), actions(&at_once));
    assert_eq!(quick.report().latency(0.5), Some(40_000));
}

#[test]
fn tampering_beyond_the_rounds_changes_nothing() {
    // A line of junctions: news travels one junction per round.
    let team = junctions(1, 8);
    let rounds = team.policy.rounds();
    let first = |tampered: Option<usize>| {
        let (_, moments) = match tampered {
            None => team.moments(plan(1, 6), &Faults::default(), 1),
            Some(agent) => {
                // Cutting an agent off changes what it says and what is heard of it.
                let others: Vec<usize> = (0..8).filter(|&i| i != agent).collect();
                let faults = Faults { partition: vec![vec![agent], others], ..Faults::default() };
                team.moments(plan(1, 6), &faults, 1)
            }
        };
        moments[0].said.iter().map(|s| s.as_ref().unwrap().log_probabilities.clone()).collect::<Vec<_>>()
    };
    let (whole, cut) = (first(None), first(Some(7)));
    for agent in 0..8 {
        match 7 - agent <= rounds {
            true => assert_ne!(whole[agent], cut[agent], "agent {agent} is near"),
            false => assert_eq!(whole[agent], cut[agent], "agent {agent} is far"),
        }
    }
}

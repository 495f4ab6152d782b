//! Transfers that compete for links of 200 Mb/s: they are judged against each other, by bytes, so that a slow machine changes nothing.

#![expect(clippy::cast_precision_loss, reason = "bytes far below 2^53")]

mod lab_support;
mod session_support;
mod shares_support;

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use shares_support::{Contest, Entrant, Over, Run, shares};

const RATE_BPS: u64 = 200_000_000;
/// About a second of the link, after which shares hold; and what is judged then.
const SETTLES: u64 = 25 << 20;
const JUDGED: u64 = 80 << 20;
const BLOCK: f64 = 256.0 * 1024.0;

/// One contest at a time: each needs the processors for itself.
static ALONE: Mutex<()> = Mutex::new(());

fn begin(over: Over, classes: &Value, entrants: &[Entrant]) -> (Contest, Vec<Run>) {
    let sources = entrants.iter().map(|one| one.source).max().unwrap_or(1);
    let contest = Contest::new(sources, over);
    contest.set_link(RATE_BPS, classes);
    let entered = entrants.iter().enumerate();
    let runs = entered
        .map(|(number, one)| contest.enter(number, one))
        .collect();
    (contest, runs)
}

/// After it has settled, each must get its part.
fn assert_parts(runs: &[Run], parts: &[f64], costs: &[f64]) {
    drop(shares(runs, SETTLES));
    assert_split(&shares(runs, JUDGED), parts, costs);
}

/// Each has its part of what all got, within 5 % and a block; what one got may count more than its bytes.
fn assert_split(got: &[u64], parts: &[f64], costs: &[f64]) {
    let counted = got
        .iter()
        .zip(costs)
        .map(|(bytes, cost)| *bytes as f64 * cost);
    let counted: Vec<f64> = counted.collect();
    let (total, all): (f64, f64) = (counted.iter().sum(), parts.iter().sum());
    for (number, counted) in counted.iter().enumerate() {
        let right = total * parts[number] / all;
        let near = (counted - right).abs() <= right * 0.05 + BLOCK;
        assert!(near, "{number}: {counted:.0} for {right:.0} of {got:?}");
    }
}

fn end(runs: &[Run]) {
    for run in runs {
        run.stop();
    }
}

#[test]
fn equals_share_alike_whatever_their_streams_and_the_sizes_of_their_files() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let entrant = |streams, file_bytes| Entrant {
        streams,
        file_bytes,
        ..Entrant::default()
    };
    // A small file counts 4 KiB more than its bytes.
    let entrants = [
        entrant(1, 1 << 30),
        entrant(8, 1 << 30),
        entrant(3, 5 << 20),
        entrant(2, 64 << 10),
    ];
    let (_contest, runs) = begin(Over::Source, &json!([]), &entrants);
    assert_parts(&runs, &[1.0; 4], &[1.0, 1.0, 1.0, 68.0 / 64.0]);
    end(&runs);
}

#[test]
fn classes_and_transfers_share_by_weight_and_a_guarantee_holds_under_load() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let class = |name, weight| json!({"name": name, "weight": weight});
    let classes = json!([class("one", 1), class("two", 2), class("four", 4)]);
    let entrant = |class, weight| Entrant {
        class,
        weight,
        ..Entrant::default()
    };
    let entrants = [
        entrant("one", 1),
        entrant("two", 1),
        entrant("four", 1),
        entrant("four", 3),
    ];
    let (_contest, runs) = begin(Over::Source, &classes, &entrants);
    assert_parts(&runs, &[1.0, 2.0, 1.0, 3.0], &[1.0; 4]);
    let promised = Entrant {
        guaranteed_bps: 130_000_000,
        ..entrant("one", 1)
    };
    runs[0].set_share(promised.share(Over::Source).as_ref());
    // Of 200 Mb/s it has 140; the more where a busy machine does not fill the link. The others share what is left.
    drop(shares(&runs, SETTLES));
    let got = shares(&runs, JUDGED);
    assert!(got[0] as f64 >= JUDGED as f64 * 0.7 * 0.95, "{got:?}");
    assert_split(&got[1..], &[2.0, 1.0, 3.0], &[1.0; 3]);
    end(&runs);
}

#[test]
fn a_priority_a_ceiling_and_another_class_hold_while_transfers_run() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let classes = |ceiling_bps: Option<u64>| json!([{"name": "bulk", "weight": 1, "ceiling_bps": ceiling_bps}, {"name": "urgent", "weight": 1, "priority": 1}]);
    let urgent = Entrant {
        class: "urgent",
        ..Entrant::default()
    };
    let (contest, mut runs) = begin(
        Over::Source,
        &classes(None),
        &[Entrant::default(), Entrant::default()],
    );
    assert_parts(&runs, &[1.0, 1.0], &[1.0; 2]);
    runs.push(contest.enter(2, &urgent));
    assert_parts(&runs, &[5.0, 5.0, 90.0], &[1.0; 3]);
    // It leaves, and another one becomes what it was.
    runs.remove(2).stop();
    runs[0].set_share(urgent.share(Over::Source).as_ref());
    assert_parts(&runs, &[90.0, 10.0], &[1.0; 2]);
    runs[0].set_share(Entrant::default().share(Over::Source).as_ref());
    contest.set_link(RATE_BPS, &classes(Some(100_000_000)));
    let slower = shares_support::shares(&runs, SETTLES);
    assert_eq!(slower.len(), 2);
    assert_parts(&runs, &[1.0, 1.0], &[1.0; 2]);
    end(&runs);
}

#[test]
fn several_sources_into_one_node_share_its_link_though_none_of_them_knows_it() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let entrant = |source, weight, streams| Entrant {
        source,
        weight,
        streams,
        ..Entrant::default()
    };
    let entrants = [entrant(1, 1, 4), entrant(2, 1, 1), entrant(3, 2, 2)];
    let (_contest, runs) = begin(Over::Destination, &json!([]), &entrants);
    assert_parts(&runs, &[1.0, 1.0, 2.0], &[1.0; 3]);
    // What it waited for is told on the side where the link is.
    let waited = runs[0].destination.progress().own.stages;
    assert!(waited.share_us > 0, "{waited:?}");
    end(&runs);
}

#[test]
fn a_transfer_that_waits_for_its_share_stops_and_goes_on_at_once() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (contest, runs) = begin(
        Over::Source,
        &json!([]),
        &[Entrant::default(), Entrant::default()],
    );
    drop(shares(&runs, SETTLES));
    // A block in half an hour: without the stop this would not end, without the rate nothing would go on.
    contest.set_link(1_000, &json!([]));
    runs[0].stop();
    contest.set_link(RATE_BPS, &json!([]));
    drop(shares(&runs[1..], SETTLES));
    runs[1].stop();
}

//! Transfers without a disk that compete for a link: what `benchmarks/shares.py` runs.
//!
//! `shares SCENARIO TRANSFERS RATE_BPS SECONDS [ROUND_TRIP_MS ...]`; a rate of 0 is no link at all. Prints a JSON line ten times a second:
//! when, and the bytes that each had received; at the end one with the processor seconds of all. Scenarios: `equal`, `weights` (1, 2 and 4 in
//! turn, as classes), `mixed` (equal, with streams and sizes of files in turn), `changes` (a priority comes at a third of the time and leaves at
//! two thirds), `ceiling` (their class has half of the link), `inbound` (each from a node of its own, over the link of the destination), `silent`
//! (as `equal`, and nobody is asked in between how far they are) and `told` (as `silent`, and both ends tell of connections and stages as
//! often as a node tells its service).
//!
//! Nodes are on loopback. With round trips they stand in hosts of a lab (which takes the root account): the one whose link it is, and one at
//! the other end of each round trip, which transfers take in turn. `inbound-weights` and `inbound-mixed` are as their second word, over the
//! link of the destination.

#[path = "../tests/lab_support/mod.rs"]
mod lab_support;
#[path = "../tests/session_support/mod.rs"]
mod session_support;
#[path = "../tests/shares_support/mod.rs"]
mod shares_support;

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;
use shares_support::{Contest, Entrant, Over, Run};

const STEP: Duration = Duration::from_millis(100);
/// A node tells its service four times a second; this is a little more often.
const TOLD_EACH: u32 = 2;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scenario, transfers, rate, seconds, trips @ ..] = &arguments[..] else {
        panic!("shares SCENARIO TRANSFERS RATE_BPS SECONDS [ROUND_TRIP_MS ...]")
    };
    let trips: Vec<u64> = trips
        .iter()
        .map(|trip| trip.parse().expect("milliseconds"))
        .collect();
    let transfers: usize = transfers.parse().expect("how many");
    let rate: u64 = rate.parse().expect("a rate");
    let seconds: u64 = seconds.parse().expect("seconds");
    let over = match (rate, scenario.as_str()) {
        (0, _) => Over::Nothing,
        (_, scenario) if scenario.starts_with("inbound") => Over::Destination,
        _ => Over::Source,
    };
    let entrants: Vec<_> = (0..transfers)
        .map(|number| entrant(scenario, number, trips.len()))
        .collect();
    let sources = entrants.iter().map(|one| one.source).max().unwrap_or(1);
    let contest = if trips.is_empty() {
        Contest::new(sources, over)
    } else {
        let far = entrants.iter().map(|one| one.source.max(one.destination));
        let trips_of_each: Vec<_> = far.map(|far| trips[usize::from(far) - 1]).collect();
        say(&json!({"round_trips_ms": trips_of_each}));
        Contest::over_trips(&trips, over)
    };
    let ceiling = (scenario == "ceiling").then_some(rate / 2);
    contest.set_link(
        rate.max(1),
        &json!([
            {"name": "one", "weight": 1}, {"name": "two", "weight": 2}, {"name": "four", "weight": 4},
            {"name": "bulk", "weight": 1, "ceiling_bps": ceiling}, {"name": "urgent", "weight": 1, "priority": 1},
        ]),
    );
    let entered = entrants.iter().enumerate();
    let mut runs: Vec<_> = entered
        .map(|(number, one)| contest.enter(number, one))
        .collect();
    while runs.iter().any(|run| run.bytes() == 0) {
        std::thread::sleep(STEP / 10);
    }
    let (begin, before) = (Instant::now(), cpu_seconds());
    let steps = u32::try_from(seconds * 10).expect("not for ever");
    for step in 0..=steps {
        std::thread::sleep((begin + STEP * step).saturating_duration_since(Instant::now()));
        if scenario == "told" && step % TOLD_EACH == 0 {
            runs.iter().for_each(tell);
        }
        if matches!(scenario.as_str(), "silent" | "told") && step != 0 && step != steps {
            continue;
        }
        let bytes: Vec<_> = runs.iter().map(Run::bytes).collect();
        say(&json!({"seconds": begin.elapsed().as_secs_f64(), "bytes": bytes}));
        if scenario == "changes" && step == steps / 3 {
            let urgent = Entrant {
                class: "urgent",
                ..Entrant::default()
            };
            runs.push(contest.enter(transfers, &urgent));
        }
        if scenario == "changes" && step == steps * 2 / 3 {
            runs.pop().expect("it came").stop();
        }
    }
    say(
        &json!({"cpu_seconds": cpu_seconds() - before, "wall_seconds": begin.elapsed().as_secs_f64()}),
    );
    // The process ends, and everything with it.
}

/// Who comes as this number; with round trips, the other end of one of them.
fn entrant(scenario: &str, number: usize, trips: usize) -> Entrant {
    let turn = |of: &[u64]| of[number % of.len()];
    let inbound = scenario.starts_with("inbound");
    let mixed = scenario.ends_with("mixed");
    let weights = scenario.ends_with("weights");
    // Four round trips meet each of three weights by themselves, and each of four numbers of streams by this.
    let trip = if mixed { number + number / 4 } else { number };
    let far = match trips {
        0 if inbound => number,
        0 => 0,
        trips => trip % trips,
    };
    let far = u8::try_from(far + 1).expect("few nodes");
    let (source, destination) = if inbound { (far, 1) } else { (1, far) };
    Entrant {
        source,
        destination,
        class: if weights {
            ["one", "two", "four"][number % 3]
        } else {
            "bulk"
        },
        streams: if mixed {
            u16::try_from(turn(&[1, 4, 2, 8])).expect("few")
        } else {
            2
        },
        file_bytes: if mixed {
            turn(&[1 << 30, 4 << 20, 1 << 30])
        } else {
            1 << 30
        },
        ..Entrant::default()
    }
}

/// What a node does to tell how far a transfer is: look at connections, read the clocks of stages, write a message.
fn tell(run: &Run) {
    for end in [&run.source, &run.destination] {
        let own = end.progress().own;
        std::hint::black_box(serde_json::to_vec(&own).expect("a message"));
    }
}

fn say(line: &serde_json::Value) {
    writeln!(std::io::stdout(), "{line}").expect("a line");
}

/// Processor time of this process so far.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("statistics");
    let fields: Vec<&str> = text
        .rsplit(')')
        .next()
        .expect("fields")
        .split_whitespace()
        .collect();
    let ticks = |place: usize| fields[place].parse::<f64>().expect("a number");
    (ticks(11) + ticks(12)) / 100.0
}

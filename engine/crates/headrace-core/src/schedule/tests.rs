//! Against a fluid model that hands a link out drop by drop, and against the cases that the service's arithmetic is held to.

use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::rate::RateLimit;

/// One that takes part in a simulation.
#[derive(Debug, Clone)]
struct Player {
    share: TransferShare,
    /// How many blocks it asks for at once.
    streams: usize,
    block: u64,
    /// What it can use at most.
    wants_bps: Option<u64>,
}

fn player(class: &str, weight: u32) -> Player {
    let share = TransferShare {
        class: class.to_owned(),
        weight,
        source_links: vec![],
        destination_links: vec![],
        guaranteed_bps: 0,
        order: 0,
        dscp: None,
        congestion_control: None,
    };
    Player {
        share,
        streams: 2,
        block: QUANTUM_BYTES,
        wants_bps: None,
    }
}

fn class(weight: u32, priority: u8) -> ClassRules {
    ClassRules {
        weight,
        priority,
        ..ClassRules::default()
    }
}

fn link(rate_bps: u64, rest_percent: u8, classes: &[(&str, ClassRules)]) -> LinkRules {
    let classes = classes
        .iter()
        .map(|(name, rules)| ((*name).to_owned(), rules.clone()));
    LinkRules {
        rate_bps: Some(rate_bps),
        rest_percent,
        classes: classes.collect(),
        receive: None,
    }
}

/// What went over the link: when, whose and how many bytes.
type Sent = Vec<(Duration, usize, u64)>;

/// Streams that ask, are granted, work for `think`, and ask again, from `begin` to `end`.
fn simulate(
    schedule: &mut Schedule,
    players: &[Player],
    (begin, end): (Duration, Duration),
    think: Duration,
) -> Sent {
    let mut sent = Sent::new();
    let mut limits: Vec<_> = players
        .iter()
        .map(|player| RateLimit::new(player.wants_bps, begin))
        .collect();
    // When each stream asks again; nothing while it waits for a grant.
    let mut ready: Vec<(usize, Option<Duration>)> = Vec::new();
    for (number, player) in players.iter().enumerate() {
        schedule.join(number as u64, &player.share, begin);
        ready.extend((0..player.streams).map(|_| (number, Some(begin))));
    }
    let mut now = begin;
    while now < end {
        for (stream, (number, at)) in ready.iter_mut().enumerate() {
            if at.is_some_and(|at| at <= now) {
                *at = None;
                schedule.ask(*number as u64, stream as u64, players[*number].block, 0);
            }
        }
        while let Some((number, stream)) = schedule.grant(now) {
            let number = usize::try_from(number).expect("few");
            let bytes = players[number].block;
            sent.push((now, number, bytes));
            let wait = limits[number].take(bytes, now);
            ready[usize::try_from(stream).expect("few")].1 = Some(now + think.max(wait));
        }
        let asks = ready.iter().filter_map(|(_, at)| *at).min();
        let next = asks.into_iter().chain(schedule.due(now)).min();
        now = next
            .expect("somebody waits or will ask")
            .max(now + Duration::from_nanos(1));
    }
    for number in 0..players.len() {
        schedule.leave(number as u64);
    }
    sent
}

/// Bits a second of each player after the first second.
fn rates(sent: &Sent, players: usize, (begin, end): (Duration, Duration)) -> Vec<f64> {
    let from = begin + Duration::from_secs(1);
    let mut rates = vec![0.0; players];
    for (at, number, bytes) in sent {
        if *at >= from {
            rates[*number] += as_f64(*bytes) * 8.0 / end.saturating_sub(from).as_secs_f64();
        }
    }
    rates
}

/// The link as a fluid: a thousand drops, each to whom the rules give it next.
fn fluid(rules: &LinkRules, players: &[Player]) -> Vec<f64> {
    const DROPS: u32 = 20_000;
    let rate = as_f64(rules.rate_bps.expect("a rate"));
    let drop = rate / f64::from(DROPS);
    let rule = |player: &Player| {
        rules
            .classes
            .get(&player.share.class)
            .cloned()
            .unwrap_or_default()
    };
    let mut got = vec![0.0; players.len()];
    let most = |number: usize| players[number].wants_bps.map_or(f64::INFINITY, as_f64);
    let mut tiers: Vec<u8> = players.iter().map(|player| rule(player).priority).collect();
    tiers.sort_unstable();
    tiers.dedup();
    let (mut left, rest) = (rate, f64::from(rules.rest_percent) / 100.0);
    for tier in tiers.into_iter().rev() {
        let of = |low: bool| {
            (0..players.len()).filter(move |number| {
                let own = rule(&players[*number]).priority;
                if low { own < tier } else { own == tier }
            })
        };
        let mut lower: BTreeMap<&str, f64> = BTreeMap::new();
        for number in of(true) {
            *lower.entry(&players[number].share.class).or_default() += most(number);
        }
        let ceiling = |name: &str| rules.classes.get(name)?.ceiling_bps.map(as_f64);
        let wanted: f64 = lower
            .iter()
            .map(|(name, want)| want.min(ceiling(name).unwrap_or(f64::INFINITY)))
            .sum();
        let mut budget = left - (left * rest).min(wanted);
        left -= budget;
        let members: Vec<usize> = of(false).collect();
        // What each got of floors, guarantees and what is left, apart.
        let mut parts = vec![[0.0_f64; 3]; players.len()];
        for phase in 0..3 {
            loop {
                let total = |number: usize| parts[number].iter().sum::<f64>();
                let of_class = |name: &str| -> Vec<usize> {
                    let same = |other: &&usize| players[**other].share.class == name;
                    members.iter().filter(same).copied().collect()
                };
                let open = |number: &usize| {
                    let class = rule(&players[*number]);
                    let name = &players[*number].share.class;
                    let taken: f64 = of_class(name).into_iter().map(total).sum();
                    total(*number) < most(*number)
                        && class
                            .ceiling_bps
                            .is_none_or(|ceiling| taken < as_f64(ceiling))
                };
                let class_part = |number: usize| -> f64 {
                    of_class(&players[number].share.class)
                        .into_iter()
                        .map(|other| parts[other][phase])
                        .sum()
                };
                let wants = |number: &usize| match phase {
                    0 => class_part(*number) < as_f64(rule(&players[*number]).floor_bps),
                    1 => {
                        parts[*number][0] + parts[*number][1]
                            < as_f64(players[*number].share.guaranteed_bps)
                    }
                    _ => true,
                };
                let candidates = members
                    .iter()
                    .copied()
                    .filter(|number| open(number) && wants(number));
                let key = |number: usize| {
                    let class = rule(&players[number]);
                    let weight = match phase {
                        0 => as_f64(class.floor_bps),
                        1 => 1.0,
                        _ => f64::from(class.weight),
                    };
                    let within = parts[number][phase] / f64::from(players[number].share.weight);
                    match phase {
                        1 => (as_f64(players[number].share.order), 0.0),
                        _ => (class_part(number) / weight, within),
                    }
                };
                let next = candidates.min_by(|left, right| {
                    let (left, right) = (key(*left), key(*right));
                    left.0.total_cmp(&right.0).then(left.1.total_cmp(&right.1))
                });
                let Some(next) = next.filter(|_| budget >= drop) else {
                    break;
                };
                parts[next][phase] += drop;
                budget -= drop;
            }
        }
        left += budget;
        for number in members {
            got[number] = parts[number].iter().sum();
        }
    }
    got
}

fn assert_close(found: &[f64], right: &[f64], rate: f64) {
    for (found, right) in found.iter().zip(right) {
        // Five in a hundred, or one in two hundred of the link where a share is small.
        assert!(
            (found - right).abs() <= (right * 0.05).max(rate * 0.005),
            "{found:.0} for {right:.0} of {rate:.0}"
        );
    }
}

const SPAN: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(14));

fn some_player() -> impl Strategy<Value = Player> {
    let class = prop::sample::select(vec!["a", "b", "c", "d"]);
    let rate = 20_000_000_u64..200_000_000;
    (
        class,
        1_u32..5,
        1_usize..5,
        32_u64..=256,
        prop::option::weighted(0.2, rate.clone()),
        prop::option::weighted(0.2, rate),
    )
        .prop_map(|(class, weight, streams, kib, wants_bps, guaranteed)| {
            let mut player = player(class, weight);
            player.share.guaranteed_bps = guaranteed.unwrap_or(0);
            Player {
                streams: streams + 1,
                block: kib * 1024,
                wants_bps,
                ..player
            }
        })
}

fn some_class() -> impl Strategy<Value = ClassRules> {
    (
        1_u32..10,
        0_u8..3,
        prop::option::weighted(0.3, 50_000_000_u64..300_000_000),
        prop::option::weighted(0.3, 10_000_000_u64..150_000_000),
    )
        .prop_map(|(weight, priority, ceiling_bps, floor)| ClassRules {
            weight,
            priority,
            ceiling_bps,
            floor_bps: floor.unwrap_or(0).min(ceiling_bps.unwrap_or(u64::MAX)),
        })
}

/// What a class may get beyond the fluid's part: who is guaranteed a rate may take that at moments at which the floor of its class is
/// empty, so that the two add up instead of overlapping.
fn twice(rules: &LinkRules, players: &[Player]) -> f64 {
    let of_class = |(name, class): (&String, &ClassRules)| {
        let members = players.iter().filter(|player| &player.share.class == name);
        let guaranteed: u64 = members.map(|player| player.share.guaranteed_bps).sum();
        as_f64(guaranteed.min(class.floor_bps))
    };
    rules.classes.iter().map(of_class).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whoever_competes_gets_what_a_fluid_would_give_him_and_the_link_is_full_and_not_more(
        classes in prop::collection::btree_map(prop::sample::select(vec!["a", "b", "c"]), some_class(), 1..4),
        mut players in prop::collection::vec(some_player(), 1..9),
        rest_percent in 5_u8..30,
        rate in 400_000_000_u64..1_000_000_000,
    ) {
        let classes: Vec<_> = classes.into_iter().collect();
        let rules = link(rate, rest_percent, &classes);
        for (order, player) in (0..).zip(&mut players) {
            player.share.order = order;
        }
        let mut schedule = Schedule::new(&rules, Duration::ZERO);
        let sent = simulate(&mut schedule, &players, SPAN, Duration::from_micros(200));
        let found = rates(&sent, players.len(), SPAN);
        let right = fluid(&rules, &players);
        for (number, (found, right)) in found.iter().zip(&right).enumerate() {
            let near = (found - right).abs() <= (right * 0.05).max(as_f64(rate) * 0.01) + twice(&rules, &players);
            prop_assert!(near, "player {number} got {found:.0} for {right:.0} of {rate}: {:?}", players[number]);
            prop_assert!(*found > 0.0 || *right < as_f64(rate) * 0.01, "player {number} starves: {:?}", players[number]);
        }
        let (found, right): (f64, f64) = (found.iter().sum(), right.iter().sum());
        prop_assert!(found >= right * 0.98, "{found:.0} of {right:.0} on {rate}");
        // No window has more than its time gives and one burst: whatever was sent before it began.
        let burst = (as_f64(rate) / 8.0 * MAX_BURST.as_secs_f64()).max(LEAST_BURST);
        let mut room = burst;
        let mut last = Duration::ZERO;
        for (at, _, bytes) in &sent {
            room = (room + at.saturating_sub(last).as_secs_f64() * as_f64(rate) / 8.0).min(burst) - as_f64(*bytes);
            last = *at;
            prop_assert!(room >= -1.0, "{room} below the burst at {at:?}");
        }
    }
}

/// A case of `conformance/shares`: the service's arithmetic and this schedule are held to the same.
#[derive(Deserialize)]
struct Case {
    name: String,
    link: LinkRules,
    claims: Vec<CaseClaim>,
    entitled_bps: Vec<f64>,
}

#[derive(Deserialize)]
struct CaseClaim {
    share: TransferShare,
    wants_bps: Option<u64>,
}

#[test]
fn transfers_get_what_the_service_says_they_are_entitled_to() {
    let text = include_str!("../../../../../conformance/shares/cases.json");
    let cases: Vec<Case> = serde_json::from_str(text).expect("cases");
    assert!(cases.len() >= 10);
    for case in cases {
        let claims = case.claims.into_iter();
        let players: Vec<_> = claims
            .map(|claim| Player {
                share: claim.share,
                wants_bps: claim.wants_bps,
                ..player("", 1)
            })
            .collect();
        let mut schedule = Schedule::new(&case.link, Duration::ZERO);
        let sent = simulate(&mut schedule, &players, SPAN, Duration::from_micros(100));
        let rate = as_f64(case.link.rate_bps.expect("a rate"));
        println!("{}", case.name);
        assert_close(&rates(&sent, players.len(), SPAN), &case.entitled_bps, rate);
        assert_close(&fluid(&case.link, &players), &case.entitled_bps, rate);
    }
}

#[test]
fn the_guarantee_of_the_lowest_order_is_kept_first_whoever_came_first() {
    let rules = link(400_000_000, 10, &[("a", class(1, 0))]);
    let mut schedule = Schedule::new(&rules, Duration::ZERO);
    let mut players = [player("a", 1), player("a", 1)];
    for player in &mut players {
        player.share.guaranteed_bps = 300_000_000;
    }
    let at = |seconds| Duration::from_secs(seconds);
    for (orders, right, span) in [
        ([2, 1], [1e8, 3e8], SPAN),
        ([1, 2], [3e8, 1e8], (at(14), at(25))),
    ] {
        for (player, order) in players.iter_mut().zip(orders) {
            player.share.order = order;
        }
        let sent = simulate(&mut schedule, &players, span, Duration::ZERO);
        assert_close(&rates(&sent, 2, span), &right, 4e8);
        assert_close(&fluid(&rules, &players), &right, 4e8);
    }
    // Another deadline changes who comes first while both run.
    for (number, player) in players.iter().enumerate() {
        schedule.join(number as u64, &player.share, at(25));
    }
    players.reverse();
    let span = (at(25), at(36));
    let sent = simulate(&mut schedule, &players, span, Duration::ZERO);
    assert_close(&rates(&sent, 2, span), &[1e8, 3e8], 4e8);
}

#[test]
fn a_link_without_a_rate_holds_nobody_back_and_ceilings_hold_all_the_same() {
    let capped = ClassRules {
        ceiling_bps: Some(80_000_000),
        ..class(1, 0)
    };
    let mut rules = link(1, 10, &[("capped", capped)]);
    rules.rate_bps = None;
    let mut schedule = Schedule::new(&rules, Duration::ZERO);
    schedule.join(1, &player("free", 1).share, Duration::ZERO);
    for ask in 0..1000 {
        schedule.ask(1, ask, QUANTUM_BYTES, 0);
    }
    assert_eq!(
        (0..1000)
            .filter_map(|_| schedule.grant(Duration::ZERO))
            .count(),
        1000
    );
    let sent = simulate(&mut schedule, &[player("capped", 1)], SPAN, Duration::ZERO);
    assert_close(&rates(&sent, 1, SPAN), &[80_000_000.0], 80_000_000.0);
}

#[test]
fn other_rules_and_another_share_hold_at_once() {
    let rules = |rate, ceiling_bps| {
        link(
            rate,
            10,
            &[
                (
                    "a",
                    ClassRules {
                        ceiling_bps,
                        ..class(1, 0)
                    },
                ),
                ("b", class(1, 1)),
            ],
        )
    };
    let mut schedule = Schedule::new(&rules(200_000_000, None), Duration::ZERO);
    let mut players = [player("a", 1), player("a", 1)];
    let sent = simulate(&mut schedule, &players, SPAN, Duration::ZERO);
    assert_close(&rates(&sent, 2, SPAN), &[1e8, 1e8], 2e8);
    let at = |seconds| Duration::from_secs(seconds);
    schedule.set_rules(&rules(400_000_000, Some(100_000_000)), at(14));
    let span = (at(14), at(25));
    let sent = simulate(&mut schedule, &players, span, Duration::ZERO);
    assert_close(&rates(&sent, 2, span), &[5e7, 5e7], 4e8);
    players[1].share.class = "b".to_owned();
    let span = (at(25), at(36));
    let sent = simulate(&mut schedule, &players, span, Duration::ZERO);
    assert_close(&rates(&sent, 2, span), &[4e7, 3.6e8], 4e8);
}

#[test]
fn a_class_that_gets_another_priority_has_its_turns_among_the_others_of_it_at_once() {
    let rules = |priority| {
        link(
            200_000_000,
            10,
            &[("a", class(1, priority)), ("b", class(1, 0))],
        )
    };
    let players = [player("a", 1), player("b", 1)];
    let at = |seconds| Duration::from_secs(seconds);
    for (before, then, right) in [(1, 0, [1e8, 1e8]), (0, 1, [1.8e8, 2e7])] {
        let mut schedule = Schedule::new(&rules(before), Duration::ZERO);
        simulate(&mut schedule, &players, (at(0), at(20)), Duration::ZERO);
        schedule.set_rules(&rules(then), at(20));
        let span = (at(20), at(25));
        let sent = simulate(&mut schedule, &players, span, Duration::ZERO);
        assert_close(&rates(&sent, 2, span), &right, 2e8);
    }
}

#[test]
fn what_is_withdrawn_is_not_granted_and_who_leaves_keeps_nobody_waiting() {
    let mut schedule = Schedule::new(&link(8_000_000, 10, &[]), Duration::ZERO);
    for number in 1..=2 {
        schedule.join(number, &player("a", 1).share, Duration::ZERO);
        schedule.ask(number, number, 100_000, 0);
    }
    assert_eq!(schedule.grant(Duration::ZERO), None);
    assert_eq!(
        schedule.due(Duration::ZERO),
        Some(Duration::from_millis(100))
    );
    schedule.withdraw(1, 1);
    assert_eq!(schedule.grant(Duration::from_millis(100)), Some((2, 2)));
    assert_eq!(schedule.due(Duration::from_millis(100)), None);
    schedule.ask(1, 3, 100_000, 0);
    schedule.leave(1);
    assert_eq!(schedule.grant(Duration::from_secs(1)), None);
    assert_eq!(schedule.due(Duration::from_secs(1)), None);
}

#[test]
fn who_was_away_catches_up_on_no_more_than_the_lag() {
    let (lag, mut turns) = (1e6, Turns::default());
    let (mut here, mut away) = (0.0, 0.0);
    for _ in 0..1000 {
        turns.take(&mut here, 1.0, 1e6, lag);
    }
    turns.take(&mut away, 2.0, 0.0, lag);
    assert!((turns.now() - away - lag / 2.0).abs() < 1.0, "{away}");
}

#[test]
fn small_files_count_more_than_their_bytes_in_turns_and_not_against_the_rate() {
    let mut schedule = Schedule::new(&link(100_000_000, 10, &[]), Duration::ZERO);
    let mut granted = [0; 2];
    for number in 0..2 {
        schedule.join(number, &player("a", 1).share, Duration::ZERO);
        for ask in 0..2000 {
            // 64 files of 1 KiB, against as many bytes of a large file.
            schedule.ask(number, ask, 64 << 10, if number == 0 { 64 } else { 0 });
        }
    }
    let mut now = Duration::ZERO;
    while now < Duration::from_secs(5) {
        while let Some((number, _)) = schedule.grant(now) {
            granted[usize::from(number == 1)] += 64 << 10;
        }
        now = schedule.due(now).expect("they wait");
    }
    let (small, large) = (f64::from(granted[0]), f64::from(granted[1]));
    assert!((4.8..5.2).contains(&(large / small)), "{small} {large}");
    assert!(
        ((small + large) * 8.0 / 5.0 - 1e8).abs() < 1e6,
        "{small} {large}"
    );
}

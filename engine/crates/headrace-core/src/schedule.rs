//! Who sends next over one link in one direction: bytes are asked for, grants come out, time comes in.
//!
//! In this order: higher priorities (lower ones keep the rest), floors of classes, guarantees of transfers, and what is left by weight,
//! of classes and of the transfers of one. `docs/decisions` says why it is made so.

mod turns;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::rate::{Bucket, MAX_BURST, as_f64, bytes_per_second};
use crate::shares::{ClassRules, LinkRules, TransferShare};

use self::turns::Turns;

/// Most bytes of one grant: more is asked for in pieces.
pub const QUANTUM_BYTES: u64 = 256 * 1024;
/// What a small file counts besides its bytes when turns are taken: what is said of it between the nodes. It does not count against
/// the rate of a link.
pub const FILE_COST_BYTES: u64 = 4 * 1024;

/// Bytes that who was held up elsewhere for a moment may catch up on.
const LAG_BYTES: f64 = 4.0 * QUANTUM;
/// The same as time of the link, where that is more.
const LAG: Duration = Duration::from_millis(20);
const QUANTUM: f64 = 256.0 * 1024.0;
/// What a slow link holds at most: a block, and what comes in while a clock is late.
const LEAST_BURST: f64 = 1.25 * QUANTUM;

/// A link in one direction: what is asked for and what is left.
#[derive(Debug)]
pub struct Schedule {
    rest: f64,
    /// `None` holds nobody back; ceilings of classes hold all the same.
    rate: Option<Bucket>,
    classes: BTreeMap<String, Class>,
    transfers: BTreeMap<u64, Transfer>,
    /// For each priority: bytes that lower ones have in hand of what they keep.
    kept: BTreeMap<u8, f64>,
    /// Turns of classes in what is left, for each priority; and in their floors.
    turns: BTreeMap<u8, Turns>,
    floors: Turns,
}

#[derive(Debug)]
struct Class {
    rules: ClassRules,
    /// Whether the link's rules name it.
    named: bool,
    floor: Bucket,
    ceiling: Option<Bucket>,
    /// How far it is in what is left, and in floors, in bytes by weight.
    served: f64,
    floor_served: f64,
    /// Turns of its transfers in what is left, and in its floor.
    turns: Turns,
    floor_turns: Turns,
}

#[derive(Debug)]
struct Transfer {
    class: String,
    weight: f64,
    guarantee: Option<Bucket>,
    order: u64,
    served: f64,
    floor_served: f64,
    asks: VecDeque<Ask>,
}

#[derive(Debug, Clone, Copy)]
struct Ask {
    number: u64,
    bytes: f64,
    cost: f64,
}

/// Why a transfer is next, which says whose account it goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Floor,
    Guarantee,
    Weight,
}

impl Schedule {
    /// A link with these rules. `now` is any clock that only rises.
    #[must_use]
    pub fn new(rules: &LinkRules, now: Duration) -> Self {
        let mut schedule = Self {
            rest: 0.0,
            rate: None,
            classes: BTreeMap::new(),
            transfers: BTreeMap::new(),
            kept: BTreeMap::new(),
            turns: BTreeMap::new(),
            floors: Turns::default(),
        };
        schedule.set_rules(rules, now);
        schedule
    }

    /// Go by other rules at once. Who waits goes on waiting.
    pub fn set_rules(&mut self, rules: &LinkRules, now: Duration) {
        self.refill(now);
        self.rest = f64::from(rules.rest_percent) / 100.0;
        self.rate = renewed(self.rate.take(), rules.rate_bps, now);
        let names = rules
            .classes
            .keys()
            .chain(self.transfers.values().map(|one| &one.class));
        let names: Vec<String> = names.cloned().collect();
        let mut before = std::mem::take(&mut self.classes);
        for name in names {
            let before = before.remove(&name);
            let priority = before.as_ref().map(|class| class.rules.priority);
            let mut class = Class::new(rules.classes.get(&name), before, now);
            if priority.is_some_and(|priority| priority != class.rules.priority) {
                // It begins where those of its new priority are: as far as it was among others, it would wait for them, or they for it.
                let turns = self.turns.get(&class.rules.priority).copied();
                class.served = turns.unwrap_or_default().now();
            }
            self.classes.entry(name).or_insert(class);
        }
        self.kept.clear();
    }

    /// Let a transfer take part, or go on by another share. `number` is its own among those of this link.
    pub fn join(&mut self, number: u64, share: &TransferShare, now: Duration) {
        self.refill(now);
        if !self.classes.contains_key(&share.class) {
            let class = Class::new(None, None, now);
            self.classes.insert(share.class.clone(), class);
        }
        let before = self.transfers.remove(&number);
        let stays = before.as_ref().is_some_and(|one| one.class == share.class);
        let class = self.classes.get(&share.class);
        // Who is new begins where the others are.
        let begins = class.map(|class| (class.turns.now(), class.floor_turns.now()));
        let before = before.map(|one| (one.guarantee, (one.served, one.floor_served), one.asks));
        let (guarantee, kept, asks) = before.unwrap_or_default();
        let (served, floor_served) = if stays {
            kept
        } else {
            begins.unwrap_or_default()
        };
        let guaranteed = Some(share.guaranteed_bps).filter(|bps| *bps > 0);
        let transfer = Transfer {
            class: share.class.clone(),
            weight: f64::from(share.weight.max(1)),
            guarantee: renewed(guarantee, guaranteed, now),
            order: share.order,
            served,
            floor_served,
            asks,
        };
        self.transfers.insert(number, transfer);
    }

    /// Forget a transfer, and what it asked for.
    pub fn leave(&mut self, number: u64) {
        let Some(gone) = self.transfers.remove(&number) else {
            return;
        };
        let used = |name: &str| self.transfers.values().any(|one| one.class == name);
        // What the link's rules do not name is there for its transfers only.
        if self
            .classes
            .get(&gone.class)
            .is_some_and(|class| !class.named)
            && !used(&gone.class)
        {
            self.classes.remove(&gone.class);
        }
    }

    /// Ask for bytes of a transfer that takes part, in which so many small files are. `ask` is a number of its own.
    pub fn ask(&mut self, transfer: u64, ask: u64, bytes: u64, files: u64) {
        if let Some(transfer) = self.transfers.get_mut(&transfer) {
            transfer.asks.push_back(Ask {
                number: ask,
                bytes: as_f64(bytes),
                cost: as_f64(bytes.saturating_add(files.saturating_mul(FILE_COST_BYTES))),
            });
        }
    }

    /// Take back what was asked for.
    pub fn withdraw(&mut self, transfer: u64, ask: u64) {
        if let Some(transfer) = self.transfers.get_mut(&transfer) {
            transfer.asks.retain(|one| one.number != ask);
        }
    }

    /// The next ask that is granted by now, with its transfer; call it until there is none.
    pub fn grant(&mut self, now: Duration) -> Option<(u64, u64)> {
        self.refill(now);
        let (number, due) = self.next()?;
        let ask = *self.transfers.get(&number)?.asks.front()?;
        if self.rate.as_ref().is_some_and(|rate| !rate.has(ask.bytes)) {
            return None;
        }
        self.charge(number, due, ask);
        self.transfers.get_mut(&number)?.asks.pop_front();
        Some((number, ask.number))
    }

    /// When there may be another grant, if nothing else is asked for until then; `None` while nobody waits.
    #[must_use]
    pub fn due(&self, now: Duration) -> Option<Duration> {
        let next = self
            .next()
            .and_then(|(number, _)| self.transfers.get(&number));
        let seconds = match (next, &self.rate) {
            (Some(transfer), Some(rate)) => rate.seconds_to(transfer.asks.front()?.bytes),
            (Some(_), None) => 0.0,
            (None, _) => {
                let waits = self.transfers.values().filter(|one| !one.asks.is_empty());
                let ceilings =
                    waits.filter_map(|one| self.classes.get(&one.class)?.ceiling.as_ref());
                ceilings
                    .map(|ceiling| ceiling.seconds_to(0.0))
                    .reduce(f64::min)?
            }
        };
        Some(now + Duration::from_secs_f64(seconds.clamp(0.0, MAX_WAIT_SECONDS)))
    }

    fn refill(&mut self, now: Duration) {
        let most = |bytes_per_second: f64| (bytes_per_second * LAG.as_secs_f64()).max(QUANTUM);
        if let Some(rate) = &mut self.rate {
            let burst = rate.bytes_per_second * MAX_BURST.as_secs_f64();
            rate.refill(now, burst.max(LEAST_BURST));
        }
        for class in self.classes.values_mut() {
            class.floor.refill(now, most(class.floor.bytes_per_second));
            if let Some(ceiling) = &mut class.ceiling {
                ceiling.refill(now, ceiling.bytes_per_second * MAX_BURST.as_secs_f64());
            }
        }
        for transfer in self.transfers.values_mut() {
            if let Some(guarantee) = &mut transfer.guarantee {
                guarantee.refill(now, most(guarantee.bytes_per_second));
            }
        }
    }

    /// Whose turn it is among those that wait and whose class is below its ceiling.
    fn next(&self) -> Option<(u64, Due)> {
        let waiting = self
            .transfers
            .iter()
            .filter(|(_, one)| !one.asks.is_empty());
        let waiting = waiting.filter_map(|(number, one)| {
            let class = self.classes.get(&one.class)?;
            let is_open = class
                .ceiling
                .as_ref()
                .is_none_or(|ceiling| ceiling.has(0.0));
            is_open.then_some((*number, one, class))
        });
        let waiting: Vec<_> = waiting.collect();
        let mut tiers: Vec<u8> = waiting
            .iter()
            .map(|(_, _, class)| class.rules.priority)
            .collect();
        tiers.sort_unstable();
        tiers.dedup();
        let lowest = *tiers.first()?;
        let keeps = |tier: &u8| self.kept.get(tier).is_some_and(|kept| *kept > 0.0);
        let tier = tiers
            .into_iter()
            .rev()
            .find(|tier| !keeps(tier))
            .unwrap_or(lowest);
        let of_tier = || {
            waiting
                .iter()
                .filter(|(_, _, class)| class.rules.priority == tier)
        };
        let floor = of_tier()
            .filter(|(_, _, class)| class.rules.floor_bps > 0 && class.floor.level > 0.0)
            .min_by(|left, right| {
                let served = |(_, one, class): &(u64, &Transfer, &Class)| {
                    (class.floor_served, one.floor_served)
                };
                least(served(left), served(right))
            });
        if let Some((number, ..)) = floor {
            return Some((*number, Due::Floor));
        }
        let promised = of_tier()
            .filter(|(_, one, _)| one.guarantee.as_ref().is_some_and(|left| left.level > 0.0))
            .min_by_key(|(number, one, _)| (one.order, *number));
        if let Some((number, ..)) = promised {
            return Some((*number, Due::Guarantee));
        }
        let next = of_tier().min_by(|left, right| {
            let served = |(_, one, class): &(u64, &Transfer, &Class)| (class.served, one.served);
            least(served(left), served(right))
        });
        next.map(|(number, ..)| (*number, Due::Weight))
    }

    fn charge(&mut self, number: u64, due: Due, ask: Ask) {
        let Some(transfer) = self.transfers.get_mut(&number) else {
            return;
        };
        let Some(class) = self.classes.get_mut(&transfer.class) else {
            return;
        };
        let lag = self
            .rate
            .as_ref()
            .map_or(0.0, |rate| rate.bytes_per_second * LAG.as_secs_f64());
        let lag = lag.max(LAG_BYTES);
        if let Some(rate) = &mut self.rate {
            rate.take(ask.bytes);
        }
        if let Some(ceiling) = &mut class.ceiling {
            ceiling.take(ask.bytes);
        }
        let (priority, weight) = (class.rules.priority, transfer.weight);
        match due {
            Due::Floor => {
                class.floor.take(ask.bytes);
                let rate = class.floor.bytes_per_second;
                self.floors
                    .take(&mut class.floor_served, rate, ask.bytes, lag);
                class
                    .floor_turns
                    .take(&mut transfer.floor_served, weight, ask.cost, lag);
            }
            Due::Guarantee => {}
            Due::Weight => {
                let turns = self.turns.entry(priority).or_default();
                turns.take(
                    &mut class.served,
                    f64::from(class.rules.weight),
                    ask.cost,
                    lag,
                );
                class
                    .turns
                    .take(&mut transfer.served, weight, ask.cost, lag);
            }
        }
        // What the floor of its class gave counts for a guarantee.
        if let (Due::Floor | Due::Guarantee, Some(guarantee)) = (due, &mut transfer.guarantee) {
            guarantee.take_down_to(ask.bytes, -LAG_BYTES);
        }
        for higher in self.classes.values().map(|class| class.rules.priority) {
            self.kept.entry(higher).or_default();
        }
        for (higher, kept) in self.kept.range_mut(priority..) {
            let used = if *higher > priority { ask.bytes } else { 0.0 };
            *kept = (*kept + self.rest * ask.bytes - used).clamp(-QUANTUM, QUANTUM);
        }
    }
}

impl Class {
    fn new(rules: Option<&ClassRules>, before: Option<Self>, now: Duration) -> Self {
        let (named, rules) = (rules.is_some(), rules.cloned().unwrap_or_default());
        let mut class = before.unwrap_or_else(|| Self {
            rules: ClassRules::default(),
            named,
            floor: Bucket::new(1.0, now),
            ceiling: None,
            served: 0.0,
            floor_served: 0.0,
            turns: Turns::default(),
            floor_turns: Turns::default(),
        });
        class.floor.bytes_per_second = bytes_per_second(Some(rules.floor_bps)).unwrap_or(1.0);
        class.ceiling = renewed(class.ceiling, rules.ceiling_bps, now);
        Self {
            rules,
            named,
            ..class
        }
    }
}

/// Order of who was served least: of classes, and of transfers of one.
fn least(left: (f64, f64), right: (f64, f64)) -> std::cmp::Ordering {
    left.0.total_cmp(&right.0).then(left.1.total_cmp(&right.1))
}

/// Keeps the arithmetic finite.
const MAX_WAIT_SECONDS: f64 = 3600.0;

/// A bucket of another rate, with what was in it.
fn renewed(before: Option<Bucket>, rate_bps: Option<u64>, now: Duration) -> Option<Bucket> {
    let bytes_per_second = bytes_per_second(rate_bps)?;
    let mut bucket = before.unwrap_or_else(|| Bucket::new(bytes_per_second, now));
    bucket.bytes_per_second = bytes_per_second;
    Some(bucket)
}

#[cfg(test)]
mod tests;

//! One direction of a host's line: what it drops, and when it hands over what it carries. Knows no clock and no device.

use std::collections::VecDeque;
use std::time::Duration;

use crate::host::Host;
use crate::packet::Packet;

/// One direction of a line.
#[derive(Debug)]
pub(crate) struct Line {
    delay: Duration,
    rate_bps: Option<f64>,
    queue_bytes: usize,
    losses: Losses,
    free_at: Duration,
    /// What waits: when each packet has left, and its bytes.
    waiting: VecDeque<(Duration, usize)>,
    waiting_bytes: usize,
}

impl Line {
    /// A direction of the line of `host`; the same seed loses the same packets.
    #[expect(clippy::cast_precision_loss, reason = "rates far below 2^53")]
    pub(crate) fn new(host: &Host, seed: u64) -> Self {
        Self {
            delay: host.round_trip / 2,
            rate_bps: host.rate_bps.map(|rate| rate as f64),
            queue_bytes: usize::try_from(host.queue_bytes).unwrap_or(usize::MAX),
            losses: Losses::new(host.loss, seed),
            free_at: Duration::ZERO,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
        }
    }

    /// Carry a packet that came at `now`: hands over what is left of it, with the time at which it arrives. Times only rise.
    pub(crate) fn carry(
        &mut self,
        packet: Packet,
        now: Duration,
        mut hand_over: impl FnMut(Duration, Packet),
    ) {
        let mut rest = packet;
        loop {
            let segments = rest.segments();
            let good = self.losses.until_next(segments);
            if good == segments {
                return self.queue(rest, now, &mut hand_over);
            }
            if good > 0 {
                let (first, others) = rest.split(good);
                self.queue(first, now, &mut hand_over);
                rest = others;
            }
            if rest.segments() == 1 {
                return;
            }
            rest = rest.split(1).1;
        }
    }

    /// Let it wait for its turn; what the queue does not hold is dropped.
    fn queue(
        &mut self,
        packet: Packet,
        now: Duration,
        hand_over: &mut impl FnMut(Duration, Packet),
    ) {
        let Some(rate) = self.rate_bps else {
            return hand_over(now + self.delay, packet);
        };
        while let Some((left_at, bytes)) = self.waiting.front()
            && *left_at <= now
        {
            self.waiting_bytes -= bytes;
            self.waiting.pop_front();
        }
        let room = self.queue_bytes.saturating_sub(self.waiting_bytes);
        let segments = packet.segments();
        let fitting = if packet.wire_bytes() <= room {
            segments
        } else {
            room * segments / packet.wire_bytes()
        };
        let packet = match fitting {
            0 => return,
            fitting if fitting == segments => packet,
            fitting => packet.split(fitting).0,
        };
        let bytes = packet.wire_bytes();
        #[expect(clippy::cast_precision_loss, reason = "a packet")]
        let takes = Duration::from_secs_f64(bytes as f64 * 8.0 / rate);
        self.free_at = self.free_at.max(now) + takes;
        self.waiting.push_back((self.free_at, bytes));
        self.waiting_bytes += bytes;
        hand_over(self.free_at + self.delay, packet);
    }
}

/// Says which packets are lost: each with the same chance.
#[derive(Debug)]
struct Losses {
    loss: f64,
    state: u64,
    /// Packets that pass before the next loss.
    left: usize,
}

impl Losses {
    fn new(loss: f64, seed: u64) -> Self {
        let mut losses = Self {
            loss,
            state: seed | 1,
            left: usize::MAX,
        };
        losses.draw();
        losses
    }

    /// How many of the next packets pass, at most `count`; when it is fewer, the one after them is lost.
    fn until_next(&mut self, count: usize) -> usize {
        if self.loss <= 0.0 {
            return count;
        }
        let good = self.left.min(count);
        self.left -= good;
        if good < count {
            self.draw();
        }
        good
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a draw: 53 bits of chance, a count that is never negative"
    )]
    fn draw(&mut self) {
        // xorshift64: chance enough, and the same on every machine.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let chance = ((self.state >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        self.left = (chance.ln() / (1.0 - self.loss).ln()) as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::packet;

    fn line(text: &str) -> Line {
        Line::new(&text.parse().expect("a host"), 7)
    }

    fn carried(line: &mut Line, packets: usize, now: Duration) -> Vec<(Duration, Packet)> {
        let mut over = Vec::new();
        for _ in 0..packets {
            line.carry(packet(10_000), now, |at, packet| over.push((at, packet)));
        }
        over
    }

    #[test]
    fn a_packet_takes_half_the_round_trip_and_its_turn_at_the_rate() {
        let wire = packet(10_000).wire_bytes();
        let over = carried(&mut line("a:rtt=50ms,rate=1Mb/s"), 2, Duration::ZERO);
        let takes = Duration::from_secs_f64(f64::from(u32::try_from(wire).expect("small")) * 8e-6);
        let times: Vec<Duration> = over.iter().map(|(at, _)| *at).collect();
        let delay = Duration::from_millis(25);
        assert_eq!(times, [takes + delay, takes * 2 + delay]);
    }

    #[test]
    fn a_queue_holds_what_it_may_and_drops_the_rest_until_there_is_room() {
        let mut line = line("a:rate=1Mb/s,queue=64KiB");
        let over = carried(&mut line, 100, Duration::ZERO);
        let held: usize = over.iter().map(|(_, packet)| packet.wire_bytes()).sum();
        assert!((60 << 10..=64 << 10).contains(&held), "{held}");
        let later = over.last().expect("some").0;
        assert_eq!(carried(&mut line, 1, later).len(), 1);
    }

    #[test]
    fn losses_take_single_segments_and_as_many_as_asked_for() {
        let mut line = line("a:loss=1%");
        let over = carried(&mut line, 10_000, Duration::ZERO);
        let left: usize = over.iter().map(|(_, packet)| packet.segments()).sum();
        let lost = 100_000 - left;
        assert!((900..=1100).contains(&lost), "{lost}");
        assert!(over.len() > 10_000, "packets were cut, not dropped whole");
    }
}

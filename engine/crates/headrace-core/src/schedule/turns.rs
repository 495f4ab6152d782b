//! Turns by weight: who has had the least for its weight is next.

/// Where the turns of a group are, in bytes by weight.
///
/// Deficit round robin would forget who has nothing to send at the moment, and a stream has nothing between two blocks. Here a member
/// keeps its place while it is away, and who is away for longer may catch up on no more than `lag`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Turns {
    now: f64,
}

impl Turns {
    /// Where those are that take their turns.
    pub(super) fn now(self) -> f64 {
        self.now
    }

    /// Note that a member took `cost` bytes: of those that wait, the one that was served least.
    pub(super) fn take(&mut self, served: &mut f64, weight: f64, cost: f64, lag: f64) {
        *served = served.max(self.now - lag / weight);
        self.now = self.now.max(*served);
        *served += cost / weight;
    }
}

//! Timer for the phases of a link. It reads the clock only if timing is enabled.

use std::time::{Duration, Instant};

/// A phase and how long it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// Name: that of the module that does it.
    pub name: &'static str,
    /// Wall time.
    pub time: Duration,
}

/// Measures phases.
#[derive(Debug)]
pub(crate) struct Watch {
    last: Option<Instant>,
    phases: Vec<Phase>,
}

impl Watch {
    /// A running timer, or a disabled one.
    pub(crate) fn new(runs: bool) -> Self {
        Watch {
            last: runs.then(Instant::now),
            phases: Vec::new(),
        }
    }

    /// Ends a phase.
    pub(crate) fn lap(&mut self, name: &'static str) {
        if let Some(last) = self.last {
            let now = Instant::now();
            self.phases.push(Phase { name, time: now - last });
            self.last = Some(now);
        }
    }

    /// The measured phases.
    pub(crate) fn into_phases(self) -> Vec<Phase> {
        self.phases
    }
}

#[cfg(test)]
mod tests {
    use super::Watch;

    #[test]
    fn a_disabled_timer_has_no_phases() {
        let names = |runs| {
            let mut watch = Watch::new(runs);
            watch.lap("merge");
            watch.lap("emit");
            watch.into_phases().iter().map(|p| p.name).collect::<Vec<_>>()
        };
        assert!(names(false).is_empty());
        assert_eq!(names(true), ["merge", "emit"]);
    }
}

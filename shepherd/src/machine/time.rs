//! What time brings: limits, postponed signals, programs that take too long.

use std::time::Duration;

use super::orders::PROCEDURE_GRACE;
use super::*;
use crate::limit::{self, Sample};

impl Machine {
    /// A limit of the shepherd's own is exceeded: notify and method as for an order.
    pub(super) fn limit_by_order(&mut self, text: String, now: Duration) {
        if self.limit.is_none() {
            self.trace(text.clone());
            self.limit = Some(text);
            self.killed = true;
            if self.started { self.notify_kill(now) } else { self.out.push(Action::Kill) }
        }
    }

    pub(super) fn sampled(&mut self, sample: Sample, now: Duration) {
        if self.phase != Phase::Running(Step::Job) || self.limit.is_some() {
            return;
        }
        let verdict = self.plan.limits.judge(sample, &mut self.warned);
        for text in verdict.warnings {
            self.trace(text);
            self.out.push(Action::Signal(XCPU));
        }
        if let Some(text) = verdict.exceeded {
            // Memory and CPU are shared with others: no notification, no method, at once.
            self.trace(text.clone());
            self.limit = Some(text);
            self.killed = true;
            self.out.push(Action::Kill);
            self.sample_at = None;
        } else {
            self.sample_at = verdict.next.map(|wait| later(now, wait));
        }
    }

    pub(super) fn tick(&mut self, now: Duration) {
        let due = |at: Option<Duration>| at.is_some_and(|at| at <= now);
        if let Some((what, at)) = self.postponed
            && at <= now
        {
            self.postponed = None;
            match what {
                Postponed::Stop => {
                    self.trace("delivering postponed signal STOP");
                    self.control(Control::Suspend, now);
                }
                Postponed::Kill => {
                    self.trace("delivering postponed signal KILL");
                    self.deliver_kill(now);
                }
            }
        }
        if due(self.s_rt_at) {
            self.s_rt_at = None;
            let limit = limit::seconds(self.plan.s_rt.unwrap_or_default());
            self.trace(format!("s_rt of {limit} exceeded: sending USR1"));
            self.out.push(Action::Signal(USR1));
            self.s_rt_kill_at = self.plan.s_rt_grace.map(|grace| later(now, grace));
        }
        for (at, name, limit) in
            [(self.h_rt_at, "h_rt", self.plan.h_rt), (self.s_rt_kill_at, "s_rt", self.plan.s_rt)]
        {
            if due(at) {
                let ran = limit::seconds(now.saturating_sub(self.job_started_at));
                let limit = limit::seconds(limit.unwrap_or_default());
                self.limit_by_order(
                    format!("{name} of {limit} exceeded: the job ran {ran} and was ended"),
                    now,
                );
            }
        }
        if due(self.h_rt_at) {
            self.h_rt_at = None;
        }
        if due(self.s_rt_kill_at) {
            self.s_rt_kill_at = None;
        }
        if due(self.escalate_at) {
            self.escalate_at = None;
            self.trace("the job did not end although it was told to: killing it");
            self.out.push(Action::Kill);
        }
        if due(self.checkpoint_at) {
            self.checkpoint(now);
        }
        self.tick_programs(now);
        if due(self.kill_again_at) {
            self.kill_again_at = None;
            if matches!(self.phase, Phase::Running(_)) {
                self.kill_again_at = Some(now + orders::KILL_AGAIN);
                self.out.push(Action::KillAgain);
            }
        }
        if due(self.leftovers_at) {
            self.leftovers_at = Some(later(now, self.plan.leftover_timeout));
            self.out.push(Action::NameLeftovers);
        }
        if due(self.sample_at) {
            // The answer sets the next time.
            self.sample_at = None;
            self.out.push(Action::TakeSample);
        }
    }

    /// Methods and procedures that take too long.
    pub(super) fn tick_programs(&mut self, now: Duration) {
        for control in Control::ALL {
            if self.methods[control as usize].is_some_and(|at| at <= now) {
                let name = control.name();
                self.trace(format!(
                    "{name}_method did not end in time: it is killed and the signal sent instead"
                ));
                self.methods[control as usize] = None;
                self.out.push(Action::StopMethod(control));
                if matches!(self.phase, Phase::Running(Step::Job)) {
                    self.direct(control);
                }
                self.after_job(now);
            }
        }
        if let Some((at, told)) = self.procedure_ends
            && at <= now
        {
            self.timed_out = !self.ordered;
            self.procedure_ends = if told { None } else { Some((later(now, PROCEDURE_GRACE), true)) };
            self.out.push(Action::SignalProcedure(if told { KILL } else { TERM }));
        }
    }
}

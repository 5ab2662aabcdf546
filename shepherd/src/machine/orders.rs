//! Orders: kill, suspend, resume, with notification and methods (queue_conf(5)).

use std::time::Duration;

use oxherd_model::method::Method;

use super::*;

/// A second KILL order within this time of the last one is the same order (observed on 8.1.9).
pub(super) const KILL_REPETITION: Duration = Duration::from_secs(10);
/// When a step that was killed and has not ended is killed again.
pub(super) const KILL_AGAIN: Duration = Duration::from_secs(1);
/// How long a procedure that was told to end has before it is killed.
pub(super) const PROCEDURE_GRACE: Duration = Duration::from_secs(10);

impl Machine {
    pub(super) fn order(&mut self, order: Order, now: Duration) {
        match (self.phase, order) {
            (Phase::Sweeping(_), Order::Abandon) => {
                self.abandoned = true;
                self.out.push(Action::Abandon);
                self.swept(now);
            }
            (_, Order::Abandon) => self.trace("there is nothing to abandon: the job is not being waited for"),
            (Phase::Running(Step::Job), _) => self.job_order(order, now),
            (Phase::Running(step @ (Step::Prolog | Step::PeStart)), Order::Kill | Order::KillNow) => {
                self.killed = true;
                self.trace("the job is ended before it started");
                self.end_procedure(step);
            }
            (Phase::Running(step @ (Step::Prolog | Step::PeStart)), Order::Migrate) => {
                if !self.killed && self.plan.checkpointing.is_some() {
                    self.out.push(Action::Checkpointed(false));
                }
                self.killed = true;
                self.end_procedure(step);
            }
            (Phase::Running(Step::Prolog | Step::PeStart), _) => self.waiting.push(order),
            // The job is over; what is left of its life must not take longer than it has to.
            (Phase::Running(step), Order::Kill | Order::KillNow) if self.plan.foreign[step.index()] => {}
            (Phase::Running(_), Order::KillNow) => {
                self.ordered = true;
                self.out.push(Action::SignalProcedure(KILL));
            }
            (Phase::Running(step), Order::Kill) => {
                let at = later(now, PROCEDURE_GRACE);
                if self.procedure_ends.is_none_or(|(old, _)| old > at) {
                    self.trace(format!("{} has {} s to end", step.name(), PROCEDURE_GRACE.as_secs()));
                    self.procedure_ends = Some((at, false));
                    self.ordered = true;
                }
            }
            _ => {}
        }
    }

    /// Ends a procedure before the job at once. One of another user is waited for instead, as 8.1.9 does: the job's
    /// owner must not choose the moment at which an administrator's program is cut off.
    pub(super) fn end_procedure(&mut self, step: Step) {
        if self.plan.foreign[step.index()] {
            return self.trace(format!("waiting for {}, which runs as another user", step.name()));
        }
        self.ordered = true;
        self.out.push(Action::SignalProcedure(KILL));
    }

    pub(super) fn job_order(&mut self, order: Order, now: Duration) {
        match order {
            Order::KillNow => {
                self.killed = true;
                self.postponed = None;
                self.out.push(Action::Kill);
            }
            Order::Kill => {
                self.killed = true;
                if self.started { self.notify_kill(now) } else { self.out.push(Action::Kill) }
            }
            Order::Migrate => self.migrate(now),
            _ if !self.started => self.waiting.push(order),
            Order::Stop => self.notify_stop(now),
            Order::Continue => {
                if matches!(self.postponed, Some((Postponed::Stop, _))) {
                    self.postponed = None;
                }
                self.control(Control::Resume, now);
            }
            Order::Signal(number) => self.out.push(Action::Signal(number)),
            Order::Abandon => {}
        }
    }

    pub(super) fn notify_stop(&mut self, now: Duration) {
        match (self.postponed, self.plan.notify, self.plan.notify_susp) {
            (Some(_), ..) => self.trace("ignoring repeated STOP notification"),
            (None, Some(wait), Some(signal)) => {
                self.out.push(Action::Signal(signal));
                self.postponed = Some((Postponed::Stop, later(now, wait)));
            }
            _ => self.control(Control::Suspend, now),
        }
    }

    pub(super) fn notify_kill(&mut self, now: Duration) {
        match (self.postponed, self.plan.notify, self.plan.notify_kill) {
            (Some((Postponed::Kill, _)), ..) => self.trace("ignoring repeated KILL notification"),
            (_, Some(wait), Some(signal)) if self.last_kill.is_none() => {
                self.out.push(Action::Signal(signal));
                self.postponed = Some((Postponed::Kill, later(now, wait)));
            }
            _ => {
                self.postponed = None;
                self.deliver_kill(now);
            }
        }
    }

    pub(super) fn deliver_kill(&mut self, now: Duration) {
        if self.last_kill.is_some_and(|last| now < later(last, KILL_REPETITION)) {
            return self.trace("ignored signal KILL: the last one is less than 10 s ago");
        }
        self.last_kill = Some(now);
        self.control(Control::Terminate, now);
        if self.plan.methods[Control::Terminate as usize] != Method::Default && self.escalate_at.is_none() {
            // A limit holds whatever the queue's method does; an order is escalated where that is configured.
            let always = self.limit.is_some().then_some(self.plan.method_timeout);
            self.escalate_at = self.plan.terminate_escalation.or(always).map(|wait| later(now, wait));
        }
    }

    /// Suspends, resumes or terminates as the queue says.
    pub(super) fn control(&mut self, control: Control, now: Duration) {
        match self.plan.methods[control as usize].clone() {
            Method::Default => self.direct(control),
            Method::Signal(number) => self.out.push(Action::Signal(number)),
            Method::Command(command) => self.run(control, command, now),
        }
    }

    /// Runs a command beside the job, one of each kind at a time.
    pub(super) fn run(&mut self, control: Control, command: String, now: Duration) {
        if self.methods[control as usize].is_some() {
            return self.out.push(Action::StillRunning(control));
        }
        let notify = self.plan.notify.unwrap_or_default();
        self.methods[control as usize] = Some(later(now, self.plan.method_timeout) + notify);
        self.out.push(Action::Run(control, command));
    }

    /// The usual signal.
    pub(super) fn direct(&mut self, control: Control) {
        match control.signal() {
            Some(KILL) => self.out.push(Action::Kill),
            Some(number) => self.out.push(Action::Signal(number)),
            None => {}
        }
    }
}

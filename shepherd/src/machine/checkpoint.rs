//! Checkpointing: regular checkpoints, migration, and cleaning up behind the job (checkpoint(5)).

use std::time::Duration;

use super::*;

impl Machine {
    /// A regular checkpoint.
    pub(super) fn checkpoint(&mut self, now: Duration) {
        let Some(checkpointing) = self.plan.checkpointing.clone() else { return };
        self.checkpoint_at = checkpointing.interval.map(|interval| later(now, interval));
        if !checkpointing.commands {
            if let Some(signal) = checkpointing.signal {
                self.trace(format!("checkpoint: sending signal {signal}"));
                self.out.push(Action::Signal(signal));
            }
        } else if let Some(command) = checkpointing.command {
            self.run(Control::Checkpoint, command, now);
        }
    }

    /// The job is to go on elsewhere: its environment's migration command ends it, else a KILL does.
    pub(super) fn migrate(&mut self, now: Duration) {
        self.migrate = true;
        let command =
            self.plan.checkpointing.as_ref().filter(|c| c.commands).and_then(|c| c.migr_command.clone());
        match command {
            Some(command) if self.started => self.run(Control::Migrate, command, now),
            _ => self.out.push(Action::Kill),
        }
    }

    pub(super) fn method_ended(&mut self, control: Control, success: bool, now: Duration) {
        self.methods[control as usize] = None;
        match control {
            Control::Checkpoint | Control::Migrate if success && !self.checkpointed => {
                self.checkpointed = true;
                // Written now: if this shepherd dies, the job starts again from what there is.
                self.out.push(Action::Checkpointed(true));
            }
            _ => {}
        }
        if control == Control::Migrate
            && self.phase == Phase::Running(Step::Job)
            && self.escalate_at.is_none()
        {
            // Ending the job is the command's business (checkpoint(5)); one that forgot it must not keep the slot.
            self.escalate_at = Some(later(now, self.plan.method_timeout));
        }
        if self.phase == Phase::Sweeping(Scope::Job) && self.swept {
            // What the command left behind is the job's as well.
            return self.sweep(Scope::Job, now);
        }
        self.after_job(now);
    }

    /// `clean_command` of an application-level environment, unless the job goes on elsewhere. True while it runs.
    pub(super) fn clean_up(&mut self, now: Duration) -> bool {
        let command =
            self.plan.checkpointing.as_ref().filter(|c| c.commands).and_then(|c| c.clean_command.clone());
        match command {
            Some(command) if !self.migrate && !self.cleaned && !self.refused => {
                self.cleaned = true;
                self.run(Control::Clean, command, now);
                true
            }
            _ => false,
        }
    }
}

//! Every order of events that matters, fed to the machine.

use super::*;
use crate::limit::{JobLimits, Sample};
use oxherd_model::method::Method;

fn plan() -> Plan {
    Plan {
        steps: [false, false, true, false, false],
        foreign: [false; 5],
        notify: None,
        notify_kill: Some(USR2),
        notify_susp: Some(USR1),
        methods: [Method::Default, Method::Default, Method::Default],
        procedure_timeout: Some(Duration::from_secs(120)),
        method_timeout: Duration::from_secs(120),
        terminate_escalation: None,
        leftover_timeout: Duration::from_secs(60),
        s_rt: None,
        h_rt: None,
        s_rt_grace: None,
        limits: JobLimits::default(),
        checkpointing: None,
        forbid_reschedule: false,
        forbid_apperror: false,
        sweep: true,
        remove_tmpdir: false,
        prolog_not_startable: ExitState::Prolog,
    }
}

fn all_steps() -> Plan {
    Plan { steps: [true; 5], ..plan() }
}

/// A machine with a clock in seconds and a record of what it wanted.
struct Scene {
    machine: Machine,
    log: Vec<Action>,
}

impl Scene {
    fn new(plan: Plan) -> Self {
        let mut scene = Self { machine: Machine::new(plan), log: Vec::new() };
        scene.at(0.0, Event::Begin);
        scene
    }

    /// A job that runs since second 0.
    fn running(plan: Plan) -> Self {
        let mut scene = Self::new(plan);
        scene.at(0.0, Event::Started);
        scene.log.clear();
        scene
    }

    fn at(&mut self, seconds: f64, event: Event) -> &mut Self {
        let now = Duration::from_secs_f64(1000.0 + seconds);
        // Time never passes a deadline unnoticed.
        while let Some(due) = self.machine.deadline().filter(|due| *due <= now && event != Event::Tick) {
            self.log.extend(self.machine.step(due, Event::Tick));
        }
        self.log.extend(self.machine.step(now, event));
        self
    }

    fn exits(&mut self, code: u8) -> &mut Self {
        self.at(1.0, Event::Started).at(1.0, Event::Ended(End::Exited(code)))
    }

    /// What was wanted, the trace left out.
    fn wanted(&self) -> Vec<Action> {
        self.log.iter().filter(|action| !matches!(action, Action::Trace(_))).cloned().collect()
    }

    fn steps(&self) -> Vec<Step> {
        let step = |action: &Action| if let Action::Start(step) = action { Some(*step) } else { None };
        self.log.iter().filter_map(step).collect()
    }

    fn codes(&self) -> Vec<u8> {
        let code =
            |action: &Action| if let Action::Problem(state, _) = action { Some(state.code()) } else { None };
        self.log.iter().filter_map(code).collect()
    }

    fn signals(&self) -> Vec<i32> {
        let signal = |action: &Action| match action {
            Action::Signal(number) => Some(*number),
            Action::Kill => Some(KILL),
            _ => None,
        };
        self.log.iter().filter_map(signal).collect()
    }
}

const KILLED: End = End::Signalled { signal: 9, core: false };

#[test]
fn all_steps_run_in_order_and_the_end_is_the_end() {
    let mut scene = Scene::new(all_steps());
    scene.exits(0).exits(0).exits(3).at(1.0, Event::Swept).exits(0).exits(0).at(1.0, Event::Swept);
    assert_eq!(scene.steps(), [Step::Prolog, Step::PeStart, Step::Job, Step::PeStop, Step::Epilog]);
    assert_eq!(scene.codes(), []);
    assert_eq!(scene.log.last(), Some(&Action::Leave));
}

#[test]
fn a_failing_procedure_decides_code_and_what_follows() {
    use Step::{Epilog, Job, PeStart, PeStop, Prolog};
    // Which steps end with which code, what ran, which codes were recorded: the table of 8.1.9, rows 25 to 36.
    let table: &[(&[u8], &[Step], &[u8])] = &[
        (&[1, 0], &[Prolog, Epilog], &[8]),
        (&[99, 0], &[Prolog, Epilog], &[25]),
        (&[100, 1], &[Prolog, Epilog], &[30, 15]),
        (&[0, 1, 0, 0], &[Prolog, PeStart, PeStop, Epilog], &[10]),
        (&[0, 99, 0, 0], &[Prolog, PeStart, PeStop, Epilog], &[25]),
        (&[0, 100, 0, 0], &[Prolog, PeStart, PeStop, Epilog], &[30]),
        (&[0, 0, 99, 0, 0], &[Prolog, PeStart, Job, PeStop, Epilog], &[25]),
        (&[0, 0, 100, 0, 0], &[Prolog, PeStart, Job, PeStop, Epilog], &[30]),
        (&[0, 0, 7, 1, 0], &[Prolog, PeStart, Job, PeStop, Epilog], &[13]),
        (&[0, 0, 7, 99, 0], &[Prolog, PeStart, Job, PeStop, Epilog], &[25]),
        (&[0, 0, 7, 0, 1], &[Prolog, PeStart, Job, PeStop, Epilog], &[15]),
        (&[0, 0, 99, 0, 1], &[Prolog, PeStart, Job, PeStop, Epilog], &[25, 15]),
    ];
    for (codes, steps, recorded) in table {
        let mut scene = Scene::new(all_steps());
        for code in *codes {
            scene.exits(*code).at(1.0, Event::Swept);
        }
        scene.at(1.0, Event::Swept);
        assert_eq!((&scene.steps()[..], &scene.codes()[..]), (*steps, *recorded), "{codes:?}");
        assert_eq!(scene.log.last(), Some(&Action::Leave), "{codes:?}");
    }
}

#[test]
fn a_step_that_cannot_be_started_has_its_own_code_and_skips_its_counterpart() {
    use Step::{Epilog, Job, PeStart, PeStop, Prolog};
    let table: &[(usize, &[Step], u8)] = &[
        (0, &[Prolog], 8),
        (1, &[Prolog, PeStart, Epilog], 9),
        (2, &[Prolog, PeStart, Job, PeStop, Epilog], 11),
        (3, &[Prolog, PeStart, Job, PeStop, Epilog], 12),
        (4, &[Prolog, PeStart, Job, PeStop, Epilog], 14),
    ];
    for (failing, steps, code) in table {
        let mut scene = Scene::new(all_steps());
        for index in 0..5 {
            if index == *failing {
                scene.at(1.0, Event::Refused(None, "no".into())).at(1.0, Event::Ended(End::Exited(1)));
            } else {
                scene.exits(0);
            }
            scene.at(1.0, Event::Swept);
        }
        assert_eq!((&scene.steps()[..], &scene.codes()[..]), (*steps, &[*code][..]), "{failing}");
        let usage = scene.log.iter().any(|action| matches!(action, Action::Usage(_)));
        assert_eq!(usage, *failing > 2, "usage only of jobs that ran");
    }
}

#[test]
fn forbid_reschedule_and_forbid_apperror_concern_the_job_alone() {
    for (code, expected) in [(99, vec![]), (100, vec![])] {
        let mut scene = Scene::new(Plan { forbid_reschedule: true, forbid_apperror: true, ..plan() });
        scene.exits(code).at(1.0, Event::Swept).at(1.0, Event::Swept);
        assert_eq!(scene.codes(), expected);
    }
    let mut scene = Scene::new(Plan { forbid_reschedule: true, ..all_steps() });
    scene.exits(99);
    assert_eq!(scene.codes(), [25]);
}

#[test]
fn a_kill_during_the_prolog_ends_it_and_skips_the_job() {
    let mut scene = Scene::new(all_steps());
    scene.at(1.0, Event::Started).at(2.0, Event::Order(Order::Kill)).at(2.1, Event::Ended(KILLED));
    assert_eq!(scene.steps(), [Step::Prolog, Step::Epilog]);
    assert!(scene.log.contains(&Action::SignalProcedure(KILL)));
    assert_eq!(scene.codes(), [] as [u8; 0]);
}

#[test]
fn a_kill_during_pe_start_skips_the_job_and_stops_the_environment() {
    let mut scene = Scene::new(all_steps());
    scene.exits(0).at(1.0, Event::Started).at(2.0, Event::Order(Order::Kill)).at(2.1, Event::Ended(KILLED));
    assert_eq!(scene.steps(), [Step::Prolog, Step::PeStart, Step::PeStop]);
}

#[test]
fn a_kill_shortens_the_epilog() {
    let mut scene = Scene::new(Plan { steps: [false, false, true, false, true], ..plan() });
    scene.exits(0).at(1.0, Event::Swept).at(1.0, Event::Started);
    scene.at(2.0, Event::Order(Order::Kill)).at(30.0, Event::Tick).at(50.0, Event::Tick);
    assert!(
        scene.log.ends_with(&[Action::SignalProcedure(TERM), Action::SignalProcedure(KILL)]),
        "{:?}",
        scene.log
    );
}

#[test]
fn a_procedure_that_takes_too_long_is_ended_and_has_failed() {
    let mut scene = Scene::new(Plan { procedure_timeout: Some(Duration::from_secs(3)), ..all_steps() });
    scene.at(0.0, Event::Started).at(3.0, Event::Tick);
    assert_eq!(scene.log.last(), Some(&Action::SignalProcedure(TERM)));
    scene.at(13.0, Event::Tick);
    assert_eq!(scene.log.last(), Some(&Action::SignalProcedure(KILL)));
    scene.at(13.1, Event::Ended(KILLED));
    assert_eq!((scene.codes(), scene.steps()), (vec![8], vec![Step::Prolog, Step::Epilog]));
}

#[test]
fn the_default_methods_are_stop_cont_and_kill() {
    let mut scene = Scene::running(plan());
    for order in [Order::Stop, Order::Continue, Order::Signal(XCPU), Order::Kill] {
        scene.at(1.0, Event::Order(order));
    }
    assert_eq!(scene.signals(), [STOP, CONT, XCPU, KILL]);
}

#[test]
fn methods_that_are_signals_replace_them() {
    let methods = [Method::Signal(20), Method::Signal(10), Method::Signal(15)];
    let mut scene = Scene::running(Plan { methods, ..plan() });
    for order in [Order::Stop, Order::Continue, Order::Kill] {
        scene.at(1.0, Event::Order(order));
    }
    // 11 s later the same order is a new one; nothing ever escalates unless configured (row 40).
    scene.at(12.0, Event::Order(Order::Kill)).at(9999.0, Event::Tick);
    assert_eq!(scene.signals(), [20, 10, 15, 15]);
}

#[test]
fn a_repeated_kill_within_ten_seconds_is_the_same_one() {
    let mut scene = Scene::running(plan());
    scene
        .at(1.0, Event::Order(Order::Kill))
        .at(4.0, Event::Order(Order::Kill))
        .at(11.5, Event::Order(Order::Kill));
    assert_eq!(scene.signals(), [KILL, KILL]);
}

fn notify() -> Plan {
    Plan { notify: Some(Duration::from_secs(4)), ..plan() }
}

#[test]
fn notify_warns_first_and_a_second_order_changes_nothing() {
    // row 44
    let mut scene = Scene::running(notify());
    scene.at(0.0, Event::Order(Order::Kill)).at(2.0, Event::Order(Order::Kill)).at(3.9, Event::Tick);
    assert_eq!(scene.signals(), [USR2]);
    scene.at(4.0, Event::Tick);
    assert_eq!(scene.signals(), [USR2, KILL]);
}

#[test]
fn a_resume_cancels_a_suspend_that_waits() {
    // row 45
    let mut scene = Scene::running(notify());
    scene.at(0.0, Event::Order(Order::Stop)).at(1.5, Event::Order(Order::Continue));
    scene.at(5.0, Event::Order(Order::Stop)).at(9.0, Event::Tick);
    assert_eq!(scene.signals(), [USR1, CONT, USR1, STOP]);
}

#[test]
fn a_kill_replaces_a_suspend_that_waits() {
    // row 46
    let mut scene = Scene::running(notify());
    scene.at(0.0, Event::Order(Order::Stop)).at(1.5, Event::Order(Order::Kill)).at(5.5, Event::Tick);
    assert_eq!(scene.signals(), [USR1, USR2, KILL]);
}

#[test]
fn without_a_notification_signal_there_is_no_waiting() {
    // row 47
    let mut scene = Scene::running(Plan { notify_kill: None, ..notify() });
    scene.at(0.0, Event::Order(Order::Kill));
    assert_eq!(scene.signals(), [KILL]);
}

#[test]
fn signals_wait_until_the_job_is_there() {
    let mut scene = Scene::new(Plan { steps: [true, false, true, false, false], ..plan() });
    scene
        .at(0.0, Event::Started)
        .at(0.5, Event::Order(Order::Signal(USR1)))
        .at(0.5, Event::Order(Order::Stop));
    scene.at(1.0, Event::Ended(End::Exited(0)));
    assert_eq!(scene.signals(), [] as [i32; 0]);
    scene.at(1.1, Event::Started);
    assert_eq!(scene.signals(), [USR1, STOP]);
}

#[test]
fn a_method_runs_once_at_a_time_and_the_end_waits_for_it() {
    // rows 41 to 43
    let methods = [Method::Default, Method::Default, Method::Command("/t $job_pid".into())];
    let mut scene = Scene::running(Plan { methods, ..plan() });
    scene.at(0.0, Event::Order(Order::Kill)).at(11.0, Event::Order(Order::Kill));
    assert_eq!(
        scene.wanted(),
        [Action::Run(Control::Terminate, "/t $job_pid".into()), Action::StillRunning(Control::Terminate)]
    );
    scene.at(12.0, Event::Ended(End::Exited(0))).at(12.0, Event::Swept);
    assert!(!scene.log.iter().any(|action| matches!(action, Action::Usage(_))));
    scene.at(15.0, Event::MethodEnded(Control::Terminate, true)).at(15.0, Event::Swept);
    let end = JobEnd { end: End::Exited(0), limited: false, ran: Duration::from_secs(12) };
    assert!(scene.log.contains(&Action::Usage(end)), "the job's own end counts, not the method's");
}

#[test]
fn a_method_that_hangs_is_replaced_by_its_signal() {
    let command = || Method::Command("/m".into());
    let methods = [command(), command(), command()];
    for (order, signal) in [(Order::Stop, STOP), (Order::Continue, CONT), (Order::Kill, KILL)] {
        let mut scene = Scene::running(Plan { methods: methods.clone(), ..plan() });
        scene.at(0.0, Event::Order(order)).at(119.9, Event::Tick);
        assert_eq!(scene.signals(), [] as [i32; 0]);
        scene.at(120.0, Event::Tick);
        assert_eq!(scene.signals(), [signal]);
    }
}

#[test]
fn a_terminate_method_without_effect_is_escalated_where_configured() {
    let methods = [Method::Default, Method::Default, Method::Signal(TERM)];
    let plan = Plan { methods, terminate_escalation: Some(Duration::from_secs(120)), ..plan() };
    let mut scene = Scene::running(plan);
    scene.at(0.0, Event::Order(Order::Kill)).at(120.0, Event::Tick);
    assert_eq!(scene.signals(), [TERM, KILL]);
}

#[test]
fn h_rt_kills_after_notify() {
    let mut scene = Scene::running(Plan { h_rt: Some(Duration::from_secs(3)), ..notify() });
    scene.at(2.99, Event::Tick);
    assert_eq!(scene.signals(), [] as [i32; 0]);
    scene.at(3.0, Event::Tick).at(7.0, Event::Tick);
    assert_eq!(scene.signals(), [USR2, KILL]);
    scene.at(7.0, Event::Ended(KILLED)).at(7.0, Event::Swept);
    let end = JobEnd { end: KILLED, limited: true, ran: Duration::from_secs(7) };
    assert!(scene.log.contains(&Action::Usage(end)));
    let text = "h_rt of 3 s exceeded: the job ran 3 s and was ended".to_owned();
    assert!(scene.log.contains(&Action::Problem(ExitState::Limit, text)), "{:?}", scene.log);
}

#[test]
fn s_rt_warns_once_and_h_rt_is_not_put_off_by_it() {
    // D25: 8.1.9 forgets h_rt for 90 s after s_rt fired.
    let plan = Plan { s_rt: Some(Duration::from_secs(1)), h_rt: Some(Duration::from_secs(3)), ..plan() };
    let mut scene = Scene::running(plan);
    scene.at(3.0, Event::Tick);
    assert_eq!(scene.signals(), [USR1, KILL]);
}

#[test]
fn s_rt_ends_the_job_after_its_grace_where_the_manual_page_counts() {
    let plan =
        Plan { s_rt: Some(Duration::from_secs(1)), s_rt_grace: Some(Duration::from_secs(60)), ..plan() };
    let mut scene = Scene::running(plan);
    scene.at(1.0, Event::Tick).at(60.9, Event::Tick);
    assert_eq!(scene.signals(), [USR1]);
    scene.at(61.0, Event::Tick).at(61.0, Event::Ended(KILLED)).at(61.0, Event::Swept);
    assert_eq!((scene.signals(), scene.codes()), (vec![USR1, KILL], vec![37]));
}

#[test]
fn a_limit_holds_whatever_the_terminate_method_does() {
    let methods = [Method::Default, Method::Default, Method::Signal(TERM)];
    let mut scene = Scene::running(Plan { methods, h_rt: Some(Duration::from_secs(3)), ..plan() });
    scene.at(3.0, Event::Tick).at(123.0, Event::Tick);
    assert_eq!(scene.signals(), [TERM, KILL]);
}

#[test]
fn h_vmem_kills_at_once_and_is_reported_as_a_limit() {
    let limits = JobLimits { h_vmem: Some(100), processors: 1, ..JobLimits::default() };
    let mut scene = Scene::running(Plan { limits, ..notify() });
    scene.at(0.02, Event::Tick);
    assert_eq!(scene.wanted(), [Action::TakeSample]);
    scene.at(0.02, Event::Sampled(Sample { cpu: Duration::ZERO, memory: 101, processes: 2 }));
    assert_eq!(scene.signals(), [KILL]);
    scene.at(0.1, Event::Ended(KILLED)).at(0.1, Event::Swept);
    assert_eq!(scene.codes(), [37]);
}

#[test]
fn migration_kills_and_marks_the_job() {
    let ckpt = || Some(checkpointing(false));
    let mut scene = Scene::running(Plan { checkpointing: ckpt(), ..plan() });
    scene.at(0.0, Event::Order(Order::Migrate)).at(0.0, Event::Ended(KILLED)).at(0.0, Event::Swept);
    assert!(scene.log.contains(&Action::Checkpointed(false)));
    let mut scene = Scene::running(plan());
    scene.at(0.0, Event::Order(Order::Migrate)).at(0.0, Event::Ended(KILLED)).at(0.0, Event::Swept);
    assert!(
        !scene.log.contains(&Action::Checkpointed(false)),
        "a job without an environment is not run again"
    );
    let mut scene = Scene::new(Plan { checkpointing: ckpt(), ..all_steps() });
    scene.at(0.0, Event::Started).at(0.0, Event::Order(Order::Migrate)).at(0.0, Event::Ended(KILLED));
    assert!(scene.log.contains(&Action::Checkpointed(false)));
    assert_eq!(scene.steps(), [Step::Prolog, Step::Epilog]);
}

#[test]
fn a_job_is_not_over_before_its_processes_are_gone() {
    let mut scene = Scene::running(plan());
    scene.at(1.0, Event::Ended(End::Exited(0))).at(60.9, Event::Tick);
    assert_eq!(scene.wanted(), [Action::Sweep(Scope::Job)]);
    scene.at(61.0, Event::Tick);
    assert_eq!(scene.log.last(), Some(&Action::NameLeftovers));
    scene.at(200.0, Event::Swept);
    assert_eq!(scene.log.last(), Some(&Action::Sweep(Scope::Everything)));
}

#[test]
fn tmpdir_goes_last() {
    let mut scene = Scene::running(Plan { remove_tmpdir: true, ..plan() });
    scene.at(1.0, Event::Ended(End::Exited(0))).at(1.0, Event::Swept).at(1.0, Event::Swept);
    assert_eq!(scene.log.last(), Some(&Action::RemoveTmpdir));
    scene.at(9.0, Event::TmpdirRemoved);
    assert_eq!(scene.log.last(), Some(&Action::Leave));
}

#[test]
fn an_abandoned_job_is_reported_and_not_waited_for_again() {
    let mut scene = Scene::running(Plan { steps: [false, false, true, false, true], ..plan() });
    scene.at(0.0, Event::Order(Order::Abandon));
    assert_eq!(scene.wanted(), [], "a running job is not abandoned");
    scene.at(1.0, Event::Ended(End::Exited(0))).at(99.0, Event::Order(Order::Abandon));
    assert!(scene.log.contains(&Action::Abandon));
    assert_eq!(scene.steps(), [Step::Epilog]);
    scene.at(99.0, Event::Started).at(99.0, Event::Ended(End::Exited(0)));
    assert_eq!(scene.log.last(), Some(&Action::Leave));
}

fn checkpointing(commands: bool) -> Checkpointing {
    let command = |text: &str| commands.then(|| text.to_owned());
    Checkpointing {
        commands,
        signal: (!commands).then_some(USR2),
        command: command("/ckpt"),
        migr_command: command("/migr"),
        clean_command: command("/clean"),
        interval: Some(Duration::from_secs(3)),
    }
}

#[test]
fn a_transparent_checkpoint_is_a_signal_each_interval() {
    // row 68
    let mut scene = Scene::running(Plan { checkpointing: Some(checkpointing(false)), ..plan() });
    scene.at(2.9, Event::Tick).at(3.0, Event::Tick).at(6.0, Event::Tick);
    assert_eq!(scene.signals(), [USR2, USR2]);
    scene.at(7.0, Event::Order(Order::Migrate)).at(7.0, Event::Ended(KILLED)).at(7.0, Event::Swept);
    assert_eq!(scene.signals(), [USR2, USR2, KILL]);
    assert!(scene.log.contains(&Action::Checkpointed(false)), "RESTARTED 1");
}

#[test]
fn an_application_level_checkpoint_is_a_command_and_the_end_cleans_up() {
    // row 69
    let mut scene = Scene::running(Plan { checkpointing: Some(checkpointing(true)), ..plan() });
    scene.at(3.0, Event::Tick).at(4.0, Event::MethodEnded(Control::Checkpoint, true));
    assert_eq!(
        scene.wanted(),
        [Action::Run(Control::Checkpoint, "/ckpt".into()), Action::Checkpointed(true)]
    );
    scene.at(5.0, Event::Ended(End::Exited(0))).at(5.0, Event::Swept);
    assert_eq!(scene.log.last(), Some(&Action::Run(Control::Clean, "/clean".into())));
    assert!(
        !scene.log.iter().any(|action| matches!(action, Action::Usage(_))),
        "the clean command is waited for"
    );
    scene.at(6.0, Event::MethodEnded(Control::Clean, true)).at(6.0, Event::Swept);
    assert!(scene.log.contains(&Action::NotCheckpointed), "a job that ended is not started again");
}

#[test]
fn an_application_level_migration_is_the_commands_business() {
    // row 70
    let mut scene = Scene::running(Plan { checkpointing: Some(checkpointing(true)), ..plan() });
    scene.at(1.0, Event::Order(Order::Migrate));
    assert_eq!(scene.wanted(), [Action::Run(Control::Migrate, "/migr".into())]);
    scene
        .at(2.0, Event::MethodEnded(Control::Migrate, true))
        .at(2.0, Event::Ended(KILLED))
        .at(2.0, Event::Swept);
    let cleaned = scene.log.iter().any(|action| matches!(action, Action::Run(Control::Clean, _)));
    assert!(!cleaned && scene.log.contains(&Action::Checkpointed(true)), "RESTARTED 2");
}

#[test]
fn a_migration_that_forgets_to_end_the_job_is_ended() {
    let mut scene = Scene::running(Plan { checkpointing: Some(checkpointing(true)), ..plan() });
    scene.at(1.0, Event::Order(Order::Migrate)).at(2.0, Event::MethodEnded(Control::Migrate, false));
    scene.at(122.0, Event::Tick);
    assert_eq!(scene.signals(), [KILL]);
}

#[test]
fn deleting_a_checkpointing_job_cleans_up() {
    // row 71
    let mut scene = Scene::running(Plan { checkpointing: Some(checkpointing(true)), ..plan() });
    scene.at(1.0, Event::Order(Order::Kill)).at(1.0, Event::Ended(KILLED)).at(1.0, Event::Swept);
    assert_eq!(scene.log.last(), Some(&Action::Run(Control::Clean, "/clean".into())));
}

#[test]
fn an_order_during_the_epilog_is_no_failure_of_the_queue() {
    let mut scene = Scene::new(Plan { steps: [false, false, true, false, true], ..plan() });
    scene.exits(0).at(1.0, Event::Swept).at(1.0, Event::Started);
    scene.at(2.0, Event::Order(Order::Kill)).at(12.0, Event::Tick).at(13.0, Event::Ended(End::Exited(143)));
    assert!(scene.log.contains(&Action::SignalProcedure(TERM)));
    assert_eq!(scene.codes(), [] as [u8; 0]);
}

#[test]
fn the_job_owner_cannot_cut_off_another_users_procedure() {
    let foreign = Plan { foreign: [true; 5], ..all_steps() };
    let mut scene = Scene::new(foreign.clone());
    scene.at(1.0, Event::Started).at(2.0, Event::Order(Order::Kill)).at(3.0, Event::Order(Order::KillNow));
    scene.at(4.0, Event::Ended(End::Exited(0)));
    assert_eq!(scene.steps(), [Step::Prolog, Step::Epilog]);
    scene.at(4.0, Event::Started).at(5.0, Event::Order(Order::Kill)).at(30.0, Event::Tick);
    assert!(!scene.log.iter().any(|action| matches!(action, Action::SignalProcedure(_))), "{:?}", scene.log);
    scene.at(31.0, Event::Ended(End::Exited(0)));
    assert_eq!(scene.codes(), [] as [u8; 0]);
}

#[test]
fn a_procedure_that_never_becomes_its_program_is_the_jobs_fault() {
    let mut scene = Scene::new(Plan { procedure_timeout: Some(Duration::from_secs(3)), ..all_steps() });
    scene.at(3.0, Event::Tick).at(3.1, Event::Ended(KILLED));
    assert_eq!(scene.codes(), [26]);
}

#[test]
fn what_a_method_leaves_behind_is_swept_as_well() {
    let methods = [Method::Default, Method::Default, Method::Command("/t".into())];
    let mut scene = Scene::running(Plan { methods, ..plan() });
    scene.at(0.0, Event::Order(Order::Kill)).at(1.0, Event::Ended(KILLED)).at(1.0, Event::Swept);
    scene.at(2.0, Event::MethodEnded(Control::Terminate, true));
    assert_eq!(scene.log.last(), Some(&Action::Sweep(Scope::Job)));
}

#[test]
fn a_limit_beyond_all_clocks_is_none() {
    let scene = Scene::running(Plan { h_rt: Some(Duration::MAX), ..plan() });
    assert_eq!(scene.machine.deadline(), Some(Duration::MAX));
}

//! `grid sweep` and `grid ab`: a series conducted, or gone on with, and judged.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::Args;
use oracles::{Home, Progress};
use records::{External, Store};
use serde_json::{Value, json};

use super::{CommandError, ERROR, ci, complain, print, print_json, scheduled, table, table_text};
use crate::arm::{BY_HAND, Ground, Plumb};
use crate::clocks::gpu;
use crate::clocks::judge::clock::Source;
use crate::conduct::samples::{self, Samples};
use crate::conduct::{Setting, conduct, raw};
use crate::correct::{Agreement, Correctness, correctness};
use crate::load::interrupt;
use crate::recording::{self, CellAnswers, Finished, Recorded};
use crate::rule::Rule;
use crate::series::{
    self, Cell, Client, Clients, Hosts, KnownArms, Leg, Outcomes, Plan, State, client, harness,
    known, machine,
};
use crate::slurm::{Partition, Share};
use crate::spec::{self, ArmName, NamedSpec, Positive};
use crate::verdict::{self, Report, Verdict, Word};

/// The grid that `grid sweep` runs where none is named.
const DEFAULT_SWEEP: &str = "cpu-sweep";

#[derive(Debug, Args)]
pub(super) struct SeriesArguments {
    /// The grid's name; grid sweep without one runs the sweep of this machine's cores
    grid: Option<String>,
    /// A plan of these cells alone, as in 1,2,4,8,16,32: another than the declared one
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    concurrency: Vec<u32>,
    /// Of the declared plan only these cells now, as in 1,8; the others can follow, here or as another series. Words keep the levels of the
    /// whole plan
    #[arg(long, value_name = "N,N", value_delimiter = ',', conflicts_with_all = ["on", "share"])]
    cells: Vec<u32>,
    /// Only these arms, as in plumb,llama-cpp; the subject is always one
    #[arg(long, value_name = "ARM,ARM", value_delimiter = ',')]
    arms: Vec<String>,
    /// Pairs of each comparison at each cell, where the spec's are too many or too few
    #[arg(long, value_name = "N")]
    pairs: Option<u32>,
    /// Our engine's binary [default: plumb beside this program]
    #[arg(long, value_name = "PATH")]
    plumb: Option<PathBuf>,
    /// Where the series lies, and goes on if it was interrupted [default: a folder of the cache, by the plan]
    #[arg(long, value_name = "DIR")]
    series: Option<PathBuf>,
    /// Send the cells to a partition of a scheduler that is there already; the series has to lie where its machines see it
    #[arg(long, value_name = "slurm:PARTITION", conflicts_with_all = ["plan", "judge"])]
    on: Option<Partition>,
    /// Among how many allocations the cells are shared [default: one a cell]
    #[arg(long, value_name = "N", requires = "on")]
    allocations: Option<u32>,
    /// Conduct one share of the cells and judge nothing: what an allocation runs
    #[arg(long, value_name = "INDEX/COUNT", conflicts_with_all = ["plan", "judge", "on"])]
    share: Option<Share>,
    /// Print the plan and what it can show, and run nothing
    #[arg(long)]
    plan: bool,
    /// Judge what there is, and run nothing
    #[arg(long, conflicts_with = "plan")]
    judge: bool,
    /// The report as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    for_ci: ci::ForCi,
    /// The workspace [default: at or above the current folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The cache [default: plumbline in the user's cache]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

/// Conducts and judges; the exit status is the gravest word's.
pub(super) fn run(arguments: &SeriesArguments, is_sweep: bool) -> Result<u8, CommandError> {
    let home = Home::find(arguments.root.as_deref(), arguments.cache.as_deref())?;
    let named = declared(arguments, &home, is_sweep)?;
    let plan = series::build(&named);
    if let Some(unknown) =
        arguments.cells.iter().find(|count| plan.cells.iter().all(|c| c.concurrency != **count))
    {
        return Err(CommandError::Usage(format!("--cells {unknown}: {} has no such", plan.grid)));
    }
    if arguments.plan {
        print(&planned(&plan))?;
        return Ok(0);
    }
    let sha256 = plan.sha256();
    let folder = arguments.series.clone().unwrap_or_else(|| {
        home.cache.join("series").join(format!("{}-{}", plan.grid, &sha256[..12]))
    });
    let (state, is_interrupted) = if arguments.judge {
        (State::open(&folder, &plan)?, false)
    } else if let Some(partition) = &arguments.on {
        let on = scheduled::On { partition, allocations: arguments.allocations, folder: &folder };
        scheduled::conduct(&plan, &on, &arguments.for_a_share(&named, &home, &folder))?
    } else {
        let plumb = Plumb::find(arguments.plumb.as_deref())?;
        let setting = Setting {
            ground: Ground { home: &home, plumb: &plumb, progress: Progress::stderr() },
            arms: named.spec.arms.iter().map(|(name, arm)| (name.0.clone(), arm.clone())).collect(),
            folder: &folder,
            clock: if gpu::cards().is_empty() { Source::Spin } else { Source::Gpu },
            share: arguments.share,
            only: &arguments.cells,
            stop: interrupt::on_signal()?,
        };
        let conducted = conduct(&plan, &setting)?;
        if arguments.share.is_some() {
            return Ok(if conducted.is_interrupted { ERROR } else { 0 });
        }
        (conducted.state, conducted.is_interrupted)
    };
    for torn in state.torn() {
        complain(&format!("{} is no outcome", torn.display()));
    }
    let judged = judged(&home, &plan, &folder, &state, arguments.by_hand())?;
    // The words first: whatever becomes of the record, they were measured.
    let shown = judged.show(&plan, &state, &folder, arguments.json);
    let told = arguments.for_ci.tell(&judged.report);
    complain(&format!("the series lies in {}", folder.display()));
    let word = judged.report.word();
    let is_stopped = is_interrupted || interrupt::is_set();
    let left = state.pending(&plan).filter(|leg| arguments.is_for_now(&plan, leg)).count();
    match unrecorded(left, is_stopped, word) {
        Some(why) => complain(&why),
        None if arguments.judge => {}
        None => {
            let samples = samples::of(&folder, &plan, state.outcomes())?;
            let finished = judged.finished(&named, &plan, &state, &samples);
            let store = Store::open(home.root.join("records"))?
                .with_external(External::folder(home.evidence_dir()));
            complain(&match recording::record(&store, &folder, &finished)? {
                Recorded::Now(id) => format!("record {id}"),
                Recorded::Before(id) => format!("recorded already, as {id}"),
            });
        }
    }
    shown?;
    told?;
    Ok(if is_stopped { ERROR } else { word.exit_status() })
}

/// Why a series does not go on record yet, and what to do about it: legs are left, the user stopped it, even after the last leg, or
/// nothing was compared.
fn unrecorded(left: usize, is_stopped: bool, word: Word) -> Option<String> {
    if left > 0 {
        Some(format!("{left} legs are still to go; the same command goes on"))
    } else if is_stopped {
        Some("stopped before it was recorded; the same command records it".to_owned())
    } else if word == Word::Skipped {
        let why = "nothing was compared, so that nothing is recorded; the same command goes on once what is missing is here";
        Some(why.to_owned())
    } else {
        None
    }
}

/// A series with its words.
struct Judged {
    arms: KnownArms,
    hosts: Hosts,
    /// SHA-256 of the program that conducted it.
    harness_sha256: String,
    /// The flags by which it is not the series that is declared.
    by_hand: Vec<String>,
    correctness: Correctness,
    /// What the client was good for.
    clients: Clients,
    answers: Vec<CellAnswers>,
    report: Report,
}

/// The words of what is on disk, by it and by what is on record of our arms.
fn judged(
    home: &Home,
    plan: &Plan,
    folder: &Path,
    state: &State,
    by_hand: Vec<String>,
) -> Result<Judged, CommandError> {
    let (arms, hosts) = (known::read(folder)?, machine::read(folder)?);
    let harness_sha256 = harness::read(folder)?.unwrap_or_default();
    let records = Store::open(home.root.join("records"))?.read_all()?;
    let present = oracles::present::present(home)?;
    let outcomes = state.outcomes();
    let correctness = correctness(plan, &arms, outcomes, &records, &present);
    let clients = client::read(folder, plan);
    let report = verdict::judge(plan, outcomes)
        .under(plan, &correctness.standing)
        .measured_by(plan, outcomes, &clients);
    let answers = answers(plan, outcomes, folder)?;
    Ok(Judged { arms, hosts, harness_sha256, by_hand, correctness, clients, answers, report })
}

impl Judged {
    fn finished<'a>(
        &'a self,
        named: &'a NamedSpec,
        plan: &'a Plan,
        state: &'a State,
        samples: &'a Samples,
    ) -> Finished<'a> {
        let command = ["cargo grid", named.spec.verb(), &named.name].map(str::to_owned);
        Finished {
            spec: &named.text,
            plan,
            outcomes: state.outcomes(),
            hosts: &self.hosts,
            harness_sha256: &self.harness_sha256,
            arms: &self.arms,
            correctness: &self.correctness,
            clients: &self.clients,
            answers: &self.answers,
            report: &self.report,
            samples,
            reproduce: command
                .into_iter()
                .chain(self.by_hand.iter().cloned())
                .collect::<Vec<_>>()
                .join(" "),
        }
    }

    fn show(
        &self,
        plan: &Plan,
        state: &State,
        folder: &Path,
        as_json: bool,
    ) -> Result<(), CommandError> {
        if as_json {
            print_json(&self.json(folder))
        } else {
            print(&told(plan, state.outcomes(), self))
        }
    }

    fn json(&self, folder: &Path) -> Value {
        json!({
            "report": self.report, "answers": self.answers, "correctness": self.correctness,
            "client": self.clients,
            "narrowed": self.by_hand, "is_as_declared": self.by_hand.is_empty(), "series": folder,
        })
    }
}

/// How far the arms of each comparison answered the same, leg by leg of each block.
fn answers(
    plan: &Plan,
    outcomes: &Outcomes,
    folder: &Path,
) -> Result<Vec<CellAnswers>, CommandError> {
    let begun = verdict::begun(plan, outcomes);
    let is_compared =
        |arm: &str| plan.comparisons.iter().any(|of| of.reference == arm || of.subject == arm);
    let mut all = Vec::new();
    for cell in &plan.cells {
        if !begun.contains(cell.id.as_str()) {
            continue;
        }
        let mut said = BTreeMap::new();
        for leg in plan.legs_of(&cell.id).filter(|leg| is_compared(&leg.arm)) {
            let Some(block) = leg.block else { continue };
            let answers = raw::said(folder, &leg.id)?;
            said.extend(answers.map(|answers| ((block, leg.arm.as_str()), answers)));
        }
        for comparison in &plan.comparisons {
            let mut agreement = Agreement::default();
            for ((block, _), theirs) in said.iter().filter(|(of, _)| of.1 == comparison.reference) {
                if let Some(ours) = said.get(&(*block, comparison.subject.as_str())) {
                    agreement.add(theirs, ours);
                }
            }
            let (cell, comparison) = (cell.id.clone(), comparison.clone());
            all.push(CellAnswers { cell, comparison, agreement });
        }
    }
    Ok(all)
}

impl SeriesArguments {
    /// The command line of an allocation, all but its share.
    fn for_a_share(&self, named: &NamedSpec, home: &Home, folder: &Path) -> Vec<String> {
        let mut words = vec![named.spec.verb().to_owned(), named.name.clone()];
        words.extend(self.narrowed_by());
        let paths = [("--series", folder), ("--root", &home.root), ("--cache", &home.cache)];
        let plumb = self.plumb.as_deref().map(|path| ("--plumb", path));
        for (flag, path) in paths.into_iter().chain(plumb) {
            // Another machine starts in another folder.
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            words.extend([flag.to_owned(), path.display().to_string()]);
        }
        words
    }

    /// Whether a leg is of a cell that is conducted now.
    fn is_for_now(&self, plan: &Plan, leg: &Leg) -> bool {
        let of = |cell: &&Cell| cell.id == leg.cell && self.cells.contains(&cell.concurrency);
        self.cells.is_empty() || plan.cells.iter().any(|cell| of(&cell))
    }

    /// The flags by which the series is not the one that is declared: what narrows its plan, and a binary that is not the one built
    /// beside this program.
    fn by_hand(&self) -> Vec<String> {
        let mut flags = self.narrowed_by();
        if let Some(plumb) = &self.plumb {
            flags.extend([BY_HAND.to_owned(), plumb.display().to_string()]);
        }
        flags
    }

    /// The flags by which the plan is not the spec's own.
    fn narrowed_by(&self) -> Vec<String> {
        let mut flags = Vec::new();
        let mut add = |flag: &str, value: String| flags.extend([flag.to_owned(), value]);
        if !self.concurrency.is_empty() {
            let cells: Vec<String> = self.concurrency.iter().map(u32::to_string).collect();
            add("--concurrency", cells.join(","));
        }
        if !self.arms.is_empty() {
            add("--arms", self.arms.join(","));
        }
        if let Some(pairs) = self.pairs {
            add("--pairs", pairs.to_string());
        }
        flags
    }
}

/// The spec with what the command line narrows; what it changes is in the plan, and so in its digest.
fn declared(
    arguments: &SeriesArguments,
    home: &Home,
    is_sweep: bool,
) -> Result<NamedSpec, CommandError> {
    let name = match (&arguments.grid, is_sweep) {
        (Some(name), _) => name.as_str(),
        (None, true) => DEFAULT_SWEEP,
        (None, false) => {
            return Err(CommandError::Usage("which grid? `grid list` names them".to_owned()));
        }
    };
    let mut named = spec::load(&home.root, name)?;
    if named.spec.sweep.is_some() != is_sweep {
        return Err(CommandError::Usage(format!("{name} is for `grid {}`", named.spec.verb())));
    }
    let cells = arguments.concurrency.iter().map(|count| Positive::try_from(*count));
    let cells: Vec<Positive> = cells
        .collect::<Result<_, _>>()
        .map_err(|reason| CommandError::Usage(format!("--concurrency {reason}")))?;
    if let Some(sweep) = &mut named.spec.sweep {
        if !cells.is_empty() {
            sweep.concurrency.clone_from(&cells);
        }
        if !arguments.arms.is_empty() {
            let wanted = |arm: &ArmName| arguments.arms.contains(&arm.0);
            sweep.against.retain(wanted);
            let kept = |arm: &str| {
                arm == sweep.subject.0 || sweep.against.iter().any(|other| other.0 == arm)
            };
            if let Some(unknown) = arguments.arms.iter().find(|arm| !kept(arm)) {
                return Err(CommandError::Usage(format!("{name} has no arm {unknown}")));
            }
            if sweep.against.is_empty() {
                return Err(CommandError::Usage("--arms names nothing to compare with".to_owned()));
            }
            let left: Vec<ArmName> =
                sweep.against.iter().chain([&sweep.subject, &sweep.null_of]).cloned().collect();
            named.spec.arms.retain(|name, _| left.contains(name));
            named.spec.correct.gates.retain(|name, _| left.contains(name));
        }
    }
    if let (Some(ab), false) = (&mut named.spec.ab, cells.is_empty()) {
        ab.concurrency = cells;
    }
    if let Some(pairs) = arguments.pairs {
        named.spec.plan.pairs = Positive::try_from(pairs)
            .map_err(|reason| CommandError::Usage(format!("--pairs {reason}")))?;
    }
    match spec::inconsistency(&named.spec) {
        Some(reason) => Err(CommandError::Usage(reason)),
        None => Ok(named),
    }
}

/// What a plan will run, and what it can show.
fn planned(plan: &Plan) -> String {
    let mut text = format!(
        "{}: {} legs of {} arms at {} cells, {} pairs each over {} sessions; {} words, plan {}\n",
        plan.grid,
        plan.legs.len(),
        plan.arms().len(),
        plan.cells.len(),
        plan.pairs(),
        plan.sessions,
        plan.tests(),
        &plan.sha256()[..12],
    );
    let spare = plan.legs.iter().filter(|leg| plan.is_spare(leg)).count();
    if spare > 0 {
        let _ = writeln!(text, "{spare} of the legs are run only where pairs are discarded");
    }
    if plan.attempts > 1 {
        let _ = writeln!(
            text,
            "a leg that the machine spoils is run again, {} times in all at most",
            plan.attempts
        );
    }
    if let (Some(noise), Some(least)) = (plan.expected_noise, plan.detectable()) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "at the expected noise of {:.2} % a difference of {:.2} % is found four times in five, one comparison taken alone",
            100.0 * noise,
            100.0 * least.exp_m1(),
        );
    }
    text
}

/// A table of words for each comparison, then what stands behind each.
fn told(plan: &Plan, outcomes: &Outcomes, judged: &Judged) -> String {
    let mut text = String::new();
    let Judged { report, answers, .. } = judged;
    for comparison in &plan.comparisons {
        let _ = writeln!(text, "{} / {}", comparison.subject, comparison.reference);
        let axes: Vec<&str> = plan.axes.iter().map(|axis| axis.metric.as_str()).collect();
        let mut rows = table(&[&["cell"], &axes[..]].concat());
        for cell in &plan.cells {
            let of = |axis: &&str| {
                let found = report.verdicts.iter().find(|verdict| {
                    verdict.cell == cell.id
                        && verdict.comparison == *comparison
                        && verdict.metric == **axis
                });
                found.map_or_else(String::new, short)
            };
            let words = axes.iter().map(of);
            rows.add_row([cell.id.clone()].into_iter().chain(words));
        }
        text += &table_text(&rows);
        for answers in answers.iter().filter(|answers| answers.comparison == *comparison) {
            let _ = writeln!(text, "{}: {}", answers.cell, answers.agreement.text());
        }
        text.push('\n');
    }
    text += &verdict::text::report(report);
    text += &errors(&judged.clients);
    text += &spoilt(outcomes);
    if !judged.by_hand.is_empty() {
        let _ = writeln!(text, "with {}: not the grid as it is declared", judged.by_hand.join(" "));
    }
    text
}

/// The client's error bars at each cell.
fn errors(clients: &Clients) -> String {
    let line = |(cell, client): (&String, &Client)| {
        let (ttft, gap) = client.error_ms()?;
        let line = format!(
            "{cell}: the client is off by at most {ttft:.3} ms in first tokens and {gap:.3} ms in gaps (p99, against known truth, before and after)\n"
        );
        Some(line)
    };
    clients.iter().filter_map(line).collect()
}

/// How many legs the machine spoilt, and by which rules, so that they were run again.
fn spoilt(outcomes: &Outcomes) -> String {
    let mut by_rule: BTreeMap<Rule, usize> = BTreeMap::new();
    let runs = outcomes.values().flat_map(|outcome| &outcome.spoilt);
    for broken in runs.clone().flat_map(|run| &run.violations) {
        *by_rule.entry(broken.rule).or_default() += 1;
    }
    let rules: Vec<String> =
        by_rule.iter().map(|(rule, times)| format!("{rule} {times} times")).collect();
    match runs.count() {
        0 => String::new(),
        count => format!(
            "{count} runs were spoilt by the machine and repeated, for {} legs: {}\n",
            outcomes.len(),
            rules.join(", ")
        ),
    }
}

/// A word, and the ratio only where there is one.
fn short(verdict: &Verdict) -> String {
    let word = coloured(verdict.word());
    match &verdict.judged {
        verdict::Judged::Compared(compared) => format!("{word} {:.3}", compared.ratio()),
        _ => word,
    }
}

/// The word; in colour on a terminal alone.
fn coloured(word: Word) -> String {
    let text = word.to_string();
    if !std::io::stdout().is_terminal() {
        return text;
    }
    let colour = match word.exit_status() {
        0 => 32,
        1 => 31,
        _ => 33,
    };
    format!("\u{1b}[{colour}m{text}\u{1b}[0m")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::fixture::{Model, PARITY, ab, simulate};

    #[test]
    fn what_does_not_go_on_record() {
        let why = |left, is_stopped, word| unrecorded(left, is_stopped, word).unwrap_or_default();
        assert!(why(3, false, Word::Inconclusive).starts_with("3 legs are still to go"));
        assert!(why(0, true, Word::Pass).starts_with("stopped"), "after the last leg as well");
        assert!(why(0, false, Word::Skipped).starts_with("nothing was compared"));
        assert_eq!(Word::Skipped.exit_status(), 5);
        for word in [Word::Pass, Word::Void, Word::Inconclusive] {
            assert_eq!(unrecorded(0, false, word), None);
        }
    }

    #[test]
    fn a_narrowed_series_says_so() {
        let plan = ab(&PARITY);
        let outcomes = simulate(&plan, &Model { noise: 0.001, ..Model::default() }, 1);
        let of = |narrowed: &[&str]| Judged {
            arms: KnownArms::new(),
            hosts: Hosts::new(),
            harness_sha256: String::new(),
            by_hand: narrowed.iter().map(|flag| (*flag).to_owned()).collect(),
            correctness: Correctness::default(),
            clients: Clients::new(),
            answers: vec![],
            report: verdict::judge(&plan, &outcomes),
        };
        assert!(!told(&plan, &outcomes, &of(&[])).contains("not the grid"));
        let text = told(&plan, &outcomes, &of(&["--pairs", "2"]));
        assert!(text.ends_with("with --pairs 2: not the grid as it is declared\n"), "{text}");
        let json = of(&["--pairs", "2"]).json(Path::new("series"));
        assert_eq!(
            (&json["is_as_declared"], &json["narrowed"][0]),
            (&json!(false), &json!("--pairs"))
        );
    }
}

//! The terms of a phase, from the settings.

use drive_adapters::settings::{PROMPTS_FOLDER, checkout_root, load_prompts};
use drive_core::problem::{Kind, Problem};
use drive_core::prompts::Prompts;
use drive_core::review::Domain;
use drive_core::run::{Makes, PhaseTerms, PlanApproval, ReviewTerms, WatchTerms};
use drive_core::settings::{Settings, TeamMode};
use std::num::NonZeroU32;
use std::path::Path;

/// The default terms of a cruise's planning phase.
pub(crate) fn usual_terms(settings: &Settings, folder: &Path) -> Result<PhaseTerms, Problem> {
    let team = &settings.spawn_team;
    let namer = team.namer_llm.as_ref().unwrap_or(&team.primary_llm);
    let prompts = load_own_prompts(folder)?;
    let review = ReviewTerms {
        domains: settings.review.domains.clone(),
        min_confidence: settings.review.min_confidence,
        refuter: settings.review.refute.then(|| {
            let refuter = settings.review.refuter_llm.as_ref();
            refuter.unwrap_or(&team.reviewer_llm).clone()
        }),
        verify: settings.review.verify,
        max_parallel: NonZeroU32::new(settings.review.max_parallel).unwrap_or(NonZeroU32::MIN),
    };
    check_domains(&review, &prompts)?;
    Ok(PhaseTerms {
        makes: Makes::Plan {
            given: None,
            approval: PlanApproval::default(),
        },
        mode: TeamMode::Github,
        reviewer: team.reviewer_llm.clone(),
        fixer: team.primary_llm.clone(),
        namer: namer.clone(),
        namer_model: team.namer_model.clone(),
        branch: None,
        max_iterations: team.max_iterations,
        watch: Some(WatchTerms {
            poll_initial: settings.cruise.poll_initial.get(),
            poll_max: settings.cruise.poll_max.get(),
            inactivity_timeout: settings.cruise.inactivity_timeout.get(),
            max_rounds: settings.cruise.max_rounds,
        }),
        review,
        prompts,
        checks_timeout: settings.forge.checks_timeout.get(),
        record: settings.observability.publish,
        title: None,
        scope: None,
        costs: None,
        adopted: None,
    })
}

/// The prompts of the checkout that contains this folder.
pub(crate) fn load_own_prompts(folder: &Path) -> Result<Prompts, Problem> {
    match checkout_root(folder) {
        Some(root) => load_prompts(&root),
        None => Ok(Prompts::default()),
    }
}

/// Refuses a domain of the project's own that has no prompt.
fn check_domains(review: &ReviewTerms, prompts: &Prompts) -> Result<(), Problem> {
    let mut domains = review.domains.iter();
    let Some(domain) = domains.find(|domain| !prompts.has_domain(domain)) else {
        return Ok(());
    };
    let shipped = Domain::SHIPPED.map(|domain| domain.to_string()).join(", ");
    let problem = Problem::new(
        Kind::DomainWithoutPrompt,
        format!("`review.domains` names {domain}, which has no prompt"),
    );
    Err(problem.hint(format!(
        "write what its reviewers look for to `{PROMPTS_FOLDER}/domain-{domain}.md`, or use one of \
         {shipped}"
    )))
}

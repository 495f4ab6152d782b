use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::io::Cursor;

use proptest::prelude::*;

use super::*;
use crate::filter::{Filters, Picked, select};
use crate::list::ListReader;
use crate::version::Version;

type Tree = BTreeMap<RelPath, Entry>;

fn path(text: &str) -> RelPath {
    RelPath::from_bytes(text.as_bytes()).expect("a test path")
}

fn entry(text: &str, kind: Kind, size: u64, mtime_ns: i128) -> Entry {
    let target = (kind == Kind::Symlink).then(|| Box::from(&b"target"[..]));
    Entry {
        path: path(text),
        kind,
        size,
        mtime_ns,
        version: Version::new(b"1").expect("short"),
        mode: 0o644,
        target,
    }
}

fn tree(entries: &[(&str, Kind, u64)]) -> Tree {
    let entries = entries
        .iter()
        .map(|(text, kind, size)| entry(text, *kind, *size, 0));
    entries.map(|entry| (entry.path.clone(), entry)).collect()
}

fn rules(on_conflict: OnConflict, filters: &Filters) -> Rules {
    let filter = Filter::new(filters).expect("usable filters");
    Rules {
        filter,
        on_conflict,
        compare: Compare::SizeMtime,
        delete_extraneous: true,
    }
}

struct Outcome {
    survey: Survey,
    overwrites: Vec<RelPath>,
    deletes: Vec<RelPath>,
}

fn run(rules: &Rules, source: &Tree, destination: &Tree) -> Outcome {
    let listing = |tree: &Tree| {
        tree.values()
            .cloned()
            .map(Ok::<_, Infallible>)
            .collect::<Vec<_>>()
    };
    let (mut overwrites, mut deletes) = (Vec::new(), Vec::new());
    let (source, destination) = (
        listing(source).into_iter(),
        listing(destination).into_iter(),
    );
    let survey = survey(
        rules,
        source,
        destination,
        &mut overwrites,
        &mut deletes,
        Cursor::new(Vec::new()),
    );
    let survey = survey.expect("ordered listings");
    let read = |list: &[u8], digest| -> Vec<RelPath> {
        ListReader::new(list, digest)
            .map(|line| line.expect("our own list").path)
            .collect()
    };
    Outcome {
        overwrites: read(&overwrites, survey.overwrites),
        deletes: read(&deletes, survey.deletes),
        survey,
    }
}

fn names(paths: &[RelPath]) -> Vec<String> {
    paths.iter().map(RelPath::escaped).collect()
}

#[test]
fn what_is_missing_is_copied_and_what_differs_follows_the_rule() {
    let source = tree(&[
        ("a", Kind::File, 5),
        ("d", Kind::Dir, 0),
        ("d/x", Kind::File, 7),
        ("s", Kind::File, 1),
    ]);
    let destination = tree(&[("a", Kind::File, 6), ("s", Kind::File, 1)]);
    let none = Filters::default();
    let failing = run(&rules(OnConflict::Fail, &none), &source, &destination)
        .survey
        .counts;
    assert_eq!(
        (failing.files, failing.bytes, failing.directories),
        (1, 7, 1)
    );
    assert_eq!(
        (
            failing.identical_files,
            failing.conflicts,
            failing.destination_files
        ),
        (1, 1, 2)
    );
    let replacing = run(&rules(OnConflict::Overwrite, &none), &source, &destination);
    assert_eq!(
        (replacing.survey.counts.files, replacing.survey.counts.bytes),
        (2, 12)
    );
    assert_eq!(
        (
            names(&replacing.overwrites),
            replacing.survey.counts.overwritten_bytes
        ),
        (vec!["a".to_owned()], 6)
    );
}

#[test]
fn newer_replaces_only_what_is_older() {
    let mut source = tree(&[("new", Kind::File, 1), ("old", Kind::File, 1)]);
    let mut destination = tree(&[("new", Kind::File, 2), ("old", Kind::File, 2)]);
    source.get_mut(&path("new")).expect("there").mtime_ns = 9;
    destination.get_mut(&path("old")).expect("there").mtime_ns = 9;
    let outcome = run(
        &rules(OnConflict::Newer, &Filters::default()),
        &source,
        &destination,
    );
    assert_eq!(names(&outcome.overwrites), ["new"]);
    assert_eq!(names(&outcome.survey.counts.conflicts_sample), ["old"]);
}

#[test]
fn excluded_names_are_never_deleted() {
    let source = tree(&[("big", Kind::File, 100), ("x.tmp", Kind::File, 1)]);
    let destination = tree(&[
        ("big", Kind::File, 5),
        ("gone", Kind::File, 5),
        ("keep", Kind::Dir, 0),
        ("keep/y.tmp", Kind::File, 1),
        ("keep/z", Kind::File, 1),
        ("scratch", Kind::Dir, 0),
        ("scratch/a", Kind::File, 1),
        ("void", Kind::Dir, 0),
        ("void/a", Kind::File, 1),
        ("x.tmp", Kind::File, 2),
    ]);
    let exclude = vec!["*.tmp".to_owned(), "scratch".to_owned()];
    let filters = Filters {
        exclude: exclude.clone(),
        ..Filters::default()
    };
    let outcome = run(&rules(OnConflict::Fail, &filters), &source, &destination);
    assert_eq!(
        names(&outcome.deletes),
        ["gone", "keep/z", "void", "void/a"]
    );

    // The source's `big` is too large to be taken, but it is there: the destination's `big` is not extraneous.
    let filters = Filters {
        exclude,
        max_size: Some(50),
        ..Filters::default()
    };
    let outcome = run(&rules(OnConflict::Fail, &filters), &source, &destination);
    assert_eq!(names(&outcome.deletes), ["gone", "keep/z", "void/a"]);
}

#[test]
fn nothing_below_a_name_of_another_kind_is_touched() {
    let source = tree(&[
        ("a", Kind::File, 1),
        ("b", Kind::Dir, 0),
        ("b/x", Kind::File, 1),
        ("c", Kind::Other, 0),
    ]);
    let destination = tree(&[
        ("a", Kind::Dir, 0),
        ("a/x", Kind::File, 1),
        ("b", Kind::File, 1),
        ("c", Kind::Dir, 0),
        ("c/x", Kind::File, 1),
    ]);
    let outcome = run(
        &rules(OnConflict::Overwrite, &Filters::default()),
        &source,
        &destination,
    );
    assert_eq!(
        (names(&outcome.deletes), names(&outcome.overwrites)),
        (vec![], vec![])
    );
    assert_eq!(
        names(&outcome.survey.counts.conflicts_sample),
        ["a", "b", "b/x"]
    );
    assert_eq!(
        (
            outcome.survey.counts.files,
            outcome.survey.counts.skipped_special
        ),
        (0, 1)
    );
}

#[test]
fn a_link_in_the_way_may_be_replaced_and_the_same_link_is_identical() {
    let source = tree(&[("l", Kind::Symlink, 6), ("m", Kind::File, 3)]);
    let destination = tree(&[("l", Kind::Symlink, 6), ("m", Kind::Symlink, 6)]);
    let outcome = run(
        &rules(OnConflict::Overwrite, &Filters::default()),
        &source,
        &destination,
    );
    assert_eq!(
        (
            outcome.survey.counts.identical_files,
            names(&outcome.overwrites)
        ),
        (1, vec!["m".to_owned()])
    );
}

#[test]
fn checksums_put_everything_that_may_differ_on_the_list() {
    let both = tree(&[("a", Kind::File, 1)]);
    let rules = |on_conflict| Rules {
        compare: Compare::Checksum,
        ..rules(on_conflict, &Filters::default())
    };
    assert_eq!(
        names(&run(&rules(OnConflict::Overwrite), &both, &both).overwrites),
        ["a"]
    );
    assert_eq!(
        run(&rules(OnConflict::Fail), &both, &both)
            .survey
            .counts
            .identical_files,
        1
    );
}

#[test]
fn our_own_temporaries_are_not_there() {
    let parts = tree(&[
        (".headrace-part-1", Kind::File, 1),
        ("d", Kind::Dir, 0),
        ("d/.headrace-part-2", Kind::File, 1),
    ]);
    let outcome = run(
        &rules(OnConflict::Fail, &Filters::default()),
        &parts,
        &parts,
    );
    assert_eq!(
        (
            outcome.survey.counts.files,
            outcome.survey.counts.destination_files
        ),
        (0, 0)
    );
}

#[test]
fn a_listing_out_of_order_is_refused() {
    let wrong = || {
        ["b", "a"]
            .map(|text| Ok::<_, Infallible>(entry(text, Kind::File, 1, 0)))
            .into_iter()
    };
    let none = || std::iter::empty();
    let rules = rules(OnConflict::Fail, &Filters::default());
    let run = |source: Vec<_>, destination: Vec<_>| {
        survey(
            &rules,
            source.into_iter(),
            destination.into_iter(),
            Vec::new(),
            Vec::new(),
            Cursor::new(Vec::new()),
        )
    };
    let first = run(wrong().collect(), none().collect());
    assert!(matches!(
        first,
        Err(SurveyError::Unordered(Side::Source, _))
    ));
    let second = run(none().collect(), wrong().collect());
    assert!(matches!(
        second,
        Err(SurveyError::Unordered(Side::Destination, _))
    ));
}

#[test]
fn an_error_of_a_listing_ends_the_survey() {
    let rules = rules(OnConflict::Fail, &Filters::default());
    let source = [Ok(entry("a", Kind::File, 1, 0)), Err("unreadable")];
    let result = survey(
        &rules,
        source.into_iter(),
        std::iter::empty(),
        Vec::new(),
        Vec::new(),
        Cursor::new(Vec::new()),
    );
    assert!(matches!(result, Err(SurveyError::Listing("unreadable"))));
}

/// A tree of names from few letters, so that both sides often meet.
fn any_tree() -> impl Strategy<Value = Tree> {
    let kind = prop_oneof![
        4 => Just(Kind::File), 3 => Just(Kind::Dir), 1 => Just(Kind::Symlink), 1 => Just(Kind::Other)
    ];
    let one = (
        prop::collection::vec("[abB]|[ab][.]t", 1..4),
        kind,
        0..3_u64,
        0..3_i128,
    );
    prop::collection::vec(one, 0..25).prop_map(|all| {
        let mut tree = Tree::new();
        for (names, kind, size, mtime) in all {
            let joined = names.join("/");
            let parents: Vec<RelPath> =
                std::iter::successors(path(&joined).parent(), RelPath::parent)
                    .filter(|up| !up.is_root())
                    .collect();
            let is_dir = |up: &RelPath| tree.get(up).is_none_or(|entry| entry.kind == Kind::Dir);
            if !parents.iter().all(is_dir) || tree.contains_key(&path(&joined)) {
                continue;
            }
            for up in parents {
                tree.entry(up.clone())
                    .or_insert_with(|| entry(&up.escaped(), Kind::Dir, 0, 0));
            }
            tree.insert(path(&joined), entry(&joined, kind, size, mtime));
        }
        tree
    })
}

fn any_filters() -> impl Strategy<Value = Filters> {
    let patterns = |max| {
        prop::collection::vec(
            prop_oneof!["[ab]", "[ab]/", "[ab]/[ab]", Just("*.t".to_owned())],
            0..max,
        )
    };
    (patterns(2), patterns(3), prop::option::of(0..3_u64)).prop_map(
        |(include, exclude, max_size)| Filters {
            include,
            exclude,
            max_size,
            ..Filters::default()
        },
    )
}

/// The same rules, one set at a time and with everything in memory.
fn model(
    rules: &Rules,
    source: &Tree,
    destination: &Tree,
) -> (BTreeSet<RelPath>, Vec<RelPath>, Vec<RelPath>) {
    let taken: Vec<&Entry> = source
        .values()
        .filter(|entry| {
            rules.filter.selects(entry) == Verdict::Selected && entry.kind != Kind::Other
        })
        .collect();
    let mut copied = BTreeSet::new();
    let mut overwrites = Vec::new();
    for entry in taken.iter().filter(|entry| entry.kind != Kind::Dir) {
        let dir_or_nothing = |up: RelPath| {
            destination
                .get(&up)
                .is_none_or(|there| there.kind == Kind::Dir)
        };
        if !std::iter::successors(entry.path.parent(), RelPath::parent).all(dir_or_nothing) {
            continue;
        }
        match destination.get(&entry.path) {
            None => {
                copied.insert(entry.path.clone());
            }
            Some(there) => {
                let replaceable = matches!(there.kind, Kind::File | Kind::Symlink);
                let newer =
                    rules.on_conflict != OnConflict::Newer || entry.mtime_ns > there.mtime_ns;
                let may = matches!(rules.on_conflict, OnConflict::Overwrite | OnConflict::Newer);
                if replaceable && newer && may && !looks_same(entry, there) {
                    copied.insert(entry.path.clone());
                    overwrites.push(entry.path.clone());
                }
            }
        }
    }
    let stays = |entry: &Entry| {
        let of_source = source.contains_key(&entry.path);
        let above = std::iter::successors(entry.path.parent(), RelPath::parent)
            .any(|up| source.get(&up).is_some_and(|there| there.kind != Kind::Dir));
        let excluded = rules.filter.selects(entry) == Verdict::Excluded;
        let folder = entry.kind == Kind::Dir && rules.filter.picks_files();
        of_source || above || excluded || folder || entry.kind == Kind::Other
    };
    let staying: Vec<&RelPath> = destination
        .values()
        .filter(|entry| stays(entry))
        .map(|entry| &entry.path)
        .collect();
    let deletes = destination
        .keys()
        .filter(|path| !staying.iter().any(|stay| stay.starts_with(path)));
    (copied, overwrites, deletes.cloned().collect())
}

proptest! {
    #[test]
    fn a_survey_agrees_with_the_naive_model(
        source in any_tree(),
        destination in any_tree(),
        filters in any_filters(),
        on_conflict in prop_oneof![
            Just(OnConflict::Fail), Just(OnConflict::Skip), Just(OnConflict::Overwrite), Just(OnConflict::Newer)
        ],
    ) {
        let rules = rules(on_conflict, &filters);
        let outcome = run(&rules, &source, &destination);
        let (copied, overwrites, deletes) = model(&rules, &source, &destination);
        let counts = &outcome.survey.counts;
        prop_assert_eq!(counts.files, copied.len() as u64);
        prop_assert_eq!(counts.bytes, copied.iter().map(|path| &source[path]).filter(|entry| entry.kind == Kind::File).map(|entry| entry.size).sum::<u64>());
        prop_assert_eq!(&counts.sample, &copied.into_iter().take(MAX_SAMPLE).collect::<Vec<_>>());
        prop_assert_eq!(&outcome.overwrites, &overwrites);
        prop_assert_eq!(&outcome.deletes, &deletes);
    }

    #[test]
    fn an_empty_destination_gets_what_the_filter_selects(source in any_tree(), filters in any_filters()) {
        let rules = rules(OnConflict::Fail, &filters);
        let counts = run(&rules, &source, &Tree::new()).survey.counts;
        let picked = select(&rules.filter, source.values().cloned().map(Ok::<_, Infallible>));
        let (mut files, mut folders, mut special, mut excluded) = (0, 0, 0, 0);
        for picked in picked {
            match picked.expect("no error") {
                Picked::Excluded(_) => excluded += 1,
                Picked::Selected(entry) if entry.kind == Kind::Dir => folders += 1,
                Picked::Special(_) => special += 1,
                Picked::Selected(_) => files += 1,
            }
        }
        prop_assert_eq!((counts.files, counts.directories, counts.excluded_files), (files, folders, excluded));
        prop_assert_eq!(counts.skipped_special, special);
        // Folders that filters leave empty are counted all the same.
        prop_assert!(counts.source_entries >= files + folders + special);
        prop_assert_eq!(counts.source_entries, source.values().filter(|entry| rules.filter.selects(entry) != Verdict::Excluded && !entry.path.has_part()).count() as u64);
    }
}

/** One plan, three ways to ask for it: words, a form, two panes. Nothing runs until its plan card has been seen. */

import { SegmentedControl, Text } from "@mantine/core";
import { useDebouncedCallback, useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, queryOptions, useMutation, useQuery, useQueryClient, useSuspenseInfiniteQuery, useSuspenseQuery, type QueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api } from "../api/client";
import { endpointsQuery, meQuery, planQuery } from "../api/queries";
import type { Interpretation, PlanRequest } from "../api/schema";
import { fromSearch, requestOf, sameRequest, toSearch, type Asked } from "../plan/asked";
import { Browser } from "../plan/Browser";
import { fromIntent, toIntent, toTuning } from "../plan/intent";
import { IntentForm } from "../plan/IntentForm";
import { PlanSection } from "../plan/PlanSection";
import { WordsBar } from "../plan/WordsBar";
import type { NewView } from "../router";
import { t, tData } from "../i18n";
import { Act, Card, Failure, Page } from "../ui/basics";
import { whyNot } from "../ui/permissions";
import { useStaying } from "../ui/staying";

const route = getRouteApi("/app/new");
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const SETTLE_MS = 250;

const interpretQuery = (text: string) =>
  queryOptions({
    queryKey: ["interpretation", text],
    queryFn: ({ signal }) => answer(api.POST("/api/v1/interpretations", { body: { text, timezone: ZONE }, signal })),
    enabled: text.trim() !== "",
    staleTime: 60_000,
    retry: false,
  });

/** The plan that is shown, and of which request it was made. */
interface Made {
  plan: string;
  of: string;
}

export function NewTransfer() {
  const { view = "words", plan, answers, ...address } = route.useSearch();
  const navigate = route.useNavigate();
  const staying = useStaying();
  const client = useQueryClient();
  const { data: me } = useSuspenseQuery(meQuery);
  const list = useSuspenseInfiniteQuery(endpointsQuery());
  const places = { endpoints: list.data.pages.flatMap((page) => page.items), more: list.hasNextPage };
  const [asked, setAsked] = useState(() => fromSearch(address));
  const [made, setMade] = useState<Made | null>(() => (plan === undefined ? null : { plan, of: sameRequest(asked) }));
  const [note, setNote] = useState<string | null>(null);
  const [settled] = useDebouncedValue(asked.text, SETTLE_MS);
  const reading = useQuery({ ...interpretQuery(settled), placeholderData: keepPreviousData });
  const current = settled === asked.text && !reading.isPlaceholderData;

  // The address is written after what is typed. When it changes otherwise (Back, Ctrl-K), it rules.
  const there = JSON.stringify([address, plan]);
  const [seen, setSeen] = useState(there);
  const [own, setOwn] = useState<readonly string[]>([]);
  if (there !== seen) {
    setSeen(there);
    if (own.includes(there)) setOwn(own.filter((one) => one !== there));
    else {
      const next = fromSearch(address);
      setAsked(next);
      setMade(plan === undefined ? null : { plan, of: sameRequest(next) });
    }
  }
  const write = (next: Asked, shown: Made | null, more: { view?: NewView; replace: boolean }) => {
    if (!staying()) return;
    const kept = shown?.of === sameRequest(next) ? shown.plan : undefined;
    // Until a plan is made, its words answer the questions of the plan that they came from.
    const search = { ...toSearch(next), plan: kept, answers: shown === made ? answers : undefined };
    setOwn((old) => [...old, JSON.stringify([toSearch(next), kept])]);
    void navigate({ search: { ...search, view: asParam(more.view ?? view) }, replace: more.replace });
  };
  const remember = useDebouncedCallback((next: Asked) => write(next, made, { replace: true }), SETTLE_MS);
  const edit = (next: Asked) => {
    setNote(null);
    setAsked(next);
    remember(next);
  };

  const make = useMutation({
    mutationFn: async ({ request, from }: { request: PlanRequest; from: Asked }) => {
      // Enter may come before the words are read. What they ask back or refuse shows under them, and makes no plan.
      if (from.rules === "words" && unread(await client.query(interpretQuery(from.text))) !== null) return null;
      const answered = answers ?? asking(client, made);
      // The form says all of it: without a word, an answer keeps what was set with the question.
      const tuning = from.rules === "form" && answered !== undefined ? (request.tuning ?? {}) : request.tuning;
      return answer(api.POST("/api/v1/plans", { body: { ...request, tuning, answers: answered, timezone: ZONE } }));
    },
    onSuccess: (plan, { from }) => {
      if (plan === null) return;
      client.setQueryData(planQuery(plan.id).queryKey, plan);
      const shown = { plan: plan.id, of: sameRequest(from) };
      setMade(shown);
      remember.cancel();
      write(from, shown, { replace: false });
    },
  });
  const blocked = whyNot(me, "plan") ?? lacking(asked) ?? (asked.rules === "words" && current && reading.data !== undefined ? unread(reading.data) : null);
  const ask = () => {
    const { request } = requestOf(asked);
    if (blocked === null && request !== null) make.mutate({ request, from: asked });
  };
  const turn = useMutation({
    mutationFn: async (next: NewView): Promise<{ asked: Asked; view: NewView; note: string | null }> => {
      if (next === "words") return { view: next, ...(await intoWords(asked)) };
      if (view !== "words" || asked.rules === "form") return { asked, view: next, note: null };
      if (asked.text.trim() === "") return { asked: { ...asked, rules: "form" }, view: next, note: null };
      const { transfer } = await client.query(interpretQuery(asked.text));
      return transfer == null
        ? { asked: { ...asked, rules: "form" }, view: next, note: t("new.note.notWhole") }
        : { asked: { ...asked, draft: fromIntent(transfer) }, view: next, note: null };
    },
    onSuccess: (turned) => {
      remember.cancel();
      setAsked(turned.asked);
      setNote(turned.note);
      write(turned.asked, made, { view: turned.view, replace: true });
    },
  });
  const button = (
    <div>
      <Act size="sm" blocked={blocked} loading={make.isPending} onClick={ask}>
        {t("new.plan")}
      </Act>
    </div>
  );
  return (
    <Page title={t("nav.new")} lead={t("new.lead")}>
      <SegmentedControl
        aria-label={t("new.ways")}
        value={turn.isPending ? turn.variables : view}
        onChange={(next) => turn.mutate(next)}
        data={(["words", "form", "browse"] as const).map((value) => ({ value, label: t(`new.view.${value}`) }))}
      />
      <Card label={t(`new.view.${view}`)}>
        {note !== null && <Text role="status">{note}</Text>}
        {view === "words" && (
          <WordsBar text={asked.text} onChange={(text) => edit({ ...asked, text, rules: "words" })} onPlan={ask} reading={reading.data} current={current}>
            {reading.isError && <Failure error={reading.error} />}
            {button}
          </WordsBar>
        )}
        {view === "form" && <IntentForm draft={asked.draft} {...places} onChange={(draft) => edit({ ...asked, draft, rules: "form" })} />}
        {view === "browse" && <Browser draft={asked.draft} {...places} onChange={(draft) => edit({ ...asked, draft, rules: "form" })} />}
        {view !== "words" && button}
        {make.isError && <Failure error={make.error} />}
        {turn.isError && <Failure error={turn.error} />}
      </Card>
      {made === null ? (
        <Text c="dimmed">{t("new.noPlan")}</Text>
      ) : (
        <PlanSection
          key={made.plan}
          plan={made.plan}
          madeFrom={asked.rules === "words" ? asked.text : undefined}
          stale={made.of !== sameRequest(asked)}
          answer={(text) => {
            const next: Asked = { ...asked, text, rules: "words" };
            setAsked(next);
            write(next, made, { view: "words", replace: true });
          }}
        />
      )}
    </Page>
  );
}

/** The plan that is shown, when it asks questions: what is asked for next answers them. */
function asking(client: QueryClient, made: Made | null): string | undefined {
  return made !== null && client.getQueryData(planQuery(made.plan).queryKey)?.state === "ask" ? made.plan : undefined;
}

/** The words of what the form says; none while it is not whole, or when a name fits in no sentence. */
async function intoWords(asked: Asked): Promise<{ asked: Asked; note: string | null }> {
  if (asked.rules === "words") return { asked, note: null };
  const { intent, lacks } = toIntent(asked.draft);
  if (intent === null) return { asked: { ...asked, text: "" }, note: t("new.note.formLacks", { why: t(`new.blocked.${lacks}`) }) };
  const { canonical_sentence: text } = await answer(api.POST("/api/v1/interpretations", { body: { intent, timezone: ZONE } }));
  const said = toTuning(asked.draft) === null ? null : t("new.note.tuned");
  return { asked: { ...asked, text: text ?? "" }, note: text == null ? t("new.note.noWords") : said };
}

function asParam(view: NewView): NewView | undefined {
  return view === "words" ? undefined : view;
}

function lacking(asked: Asked): string | null {
  const { lacks } = requestOf(asked);
  return lacks === null ? null : t(lacks === "words" ? "new.blocked.empty" : `new.blocked.${lacks}`);
}

/** Why words that were read make no plan; null when they do. */
function unread(reading: Interpretation): string | null {
  switch (reading.outcome) {
    case "ask":
      return t("new.blocked.ask");
    case "refuse":
      return t("new.blocked.refuse");
    case "intent":
      return reading.transfer == null ? t("new.blocked.other", { action: tData("action.name", reading.action ?? "") }) : null;
  }
}

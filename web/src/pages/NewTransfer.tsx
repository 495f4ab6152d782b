/** One plan, three ways to ask for it: words, a form, two panes. Nothing runs until its plan card has been seen. */

import { SegmentedControl, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, queryOptions, useMutation, useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api } from "../api/client";
import { endpointsQuery, meQuery, planQuery } from "../api/queries";
import type { Interpretation, PlanRequest, TransferIntent } from "../api/schema";
import { Browser } from "../plan/Browser";
import { IntentForm } from "../plan/IntentForm";
import { missing, NO_INTENT } from "../plan/intent";
import { PlanSection } from "../plan/PlanSection";
import { WordsBar } from "../plan/WordsBar";
import type { NewView } from "../router";
import { t, tData } from "../i18n";
import { Act, Card, Failure, Page } from "../ui/basics";
import { whyNot } from "../ui/permissions";

const route = getRouteApi("/app/new");
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

const interpretQuery = (text: string) =>
  queryOptions({
    queryKey: ["interpretation", text],
    queryFn: ({ signal }) =>
      answer(api.POST("/api/v1/interpretations", { body: { text, timezone: ZONE }, signal })),
    enabled: text.trim() !== "",
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    retry: false,
  });

export function NewTransfer() {
  const { words = "", view = "words", plan } = route.useSearch();
  const navigate = route.useNavigate();
  const client = useQueryClient();
  const { data: me } = useSuspenseQuery(meQuery);
  const { data: endpoints } = useSuspenseQuery(endpointsQuery);
  const [text, setText] = useState(words);
  const [intent, setIntent] = useState<TransferIntent>(NO_INTENT);
  const [settled] = useDebouncedValue(text, 250);
  const reading = useQuery(interpretQuery(settled));
  const current = settled === text && !reading.isPlaceholderData;

  const make = useMutation({
    mutationFn: (request: PlanRequest) => answer(api.POST("/api/v1/plans", { body: request })),
    onSuccess: async (made) => {
      client.setQueryData(planQuery(made.id).queryKey, made);
      await navigate({ search: { words: text || undefined, view: asParam(view), plan: made.id } });
    },
  });
  const blocked = whyNot(me, "plan") ?? (view === "words" ? wordsBlocked(text, current ? reading.data : undefined) : formBlocked(intent));
  const ask = () => {
    if (blocked === null) make.mutate(view === "words" ? { words: text, timezone: ZONE } : { intent, timezone: ZONE });
  };
  const show = (next: NewView) => {
    const read = reading.data?.transfer;
    if (view === "words" && read != null) setIntent(read);
    void navigate({ search: (old) => ({ ...old, view: asParam(next), words: text || undefined }), replace: true });
  };
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
        value={view}
        onChange={show}
        data={(["words", "form", "browse"] as const).map((value) => ({ value, label: t(`new.view.${value}`) }))}
      />
      <Card label={t(`new.view.${view}`)}>
        {view === "words" && (
          <WordsBar text={text} onChange={setText} onPlan={ask} reading={reading.data} current={current}>
            {reading.isError && <Failure error={reading.error} />}
            {button}
          </WordsBar>
        )}
        {view === "form" && <IntentForm intent={intent} endpoints={endpoints} onChange={setIntent} />}
        {view === "browse" && <Browser intent={intent} endpoints={endpoints} onChange={setIntent} />}
        {view !== "words" && button}
        {make.isError && <Failure error={make.error} />}
      </Card>
      {plan === undefined ? (
        <Text c="dimmed">{t("new.noPlan")}</Text>
      ) : (
        <PlanSection key={plan} plan={plan} answer={(next) => { setText(next); show("words"); }} />
      )}
    </Page>
  );
}

function asParam(view: NewView): NewView | undefined {
  return view === "words" ? undefined : view;
}

function wordsBlocked(text: string, reading: Interpretation | undefined): string | null {
  if (text.trim() === "") return t("new.blocked.empty");
  if (reading === undefined) return t("new.blocked.reading");
  switch (reading.outcome) {
    case "ask":
      return t("new.blocked.ask");
    case "refuse":
      return t("new.blocked.refuse");
    case "intent":
      return reading.transfer == null ? t("new.blocked.other", { action: tData("action.name", reading.action ?? "") }) : null;
  }
}

function formBlocked(intent: TransferIntent): string | null {
  const lacks = missing(intent);
  return lacks === null ? null : t(`new.blocked.${lacks}`);
}

/** Plans of others that wait for this person's yes or no: the list, and one plan, which stays where it is whatever comes in. */

import { Button, Text } from "@mantine/core";
import { useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { awaitingQuery, meQuery, planQuery } from "../api/queries";
import type { Plan } from "../api/schema";
import { shortened } from "../format/path";
import { t, tn } from "../i18n";
import { PlanSection } from "../plan/PlanSection";
import { Empty, Page, Stack, Time } from "../ui/basics";
import { whyNot } from "../ui/permissions";
import { who } from "../ui/who";
import classes from "./Approvals.module.css";

const route = getRouteApi("/app/approvals");

export function Approvals() {
  const { plan: chosen } = route.useSearch();
  const navigate = route.useNavigate();
  const client = useQueryClient();
  const { data: me } = useSuspenseQuery(meQuery);
  const { data: waiting } = useSuspenseQuery(awaitingQuery);
  // What comes in while the page is open waits behind a button: nothing moves under the pointer.
  const [listed, setListed] = useState<readonly Plan[]>(waiting);
  const fresh = waiting.filter(({ id }) => !listed.some((one) => one.id === id));
  const open = listed.filter(({ id }) => waiting.some((one) => one.id === id));
  const shown = chosen ?? listed[0]?.id;
  const denied = whyNot(me, "approve");
  const show = () => {
    setListed(waiting);
    // A plan that was decided makes room for the next.
    if (shown === undefined || !waiting.some(({ id }) => id === shown)) void navigate({ search: {}, replace: true });
  };
  if (listed.length === 0 && fresh.length === 0 && chosen === undefined) {
    return (
      <Page title={t("nav.approvals")} lead={t("approvals.lead")}>
        <Empty title={denied ?? t("approvals.empty")}>{denied === null ? t("approvals.empty.detail") : undefined}</Empty>
      </Page>
    );
  }
  return (
    <Page title={t("nav.approvals")} lead={t("approvals.lead")}>
      <div className={classes.inbox}>
        <nav className={classes.list} aria-label={t("approvals.list")}>
          {fresh.length > 0 && (
            <Button variant="default" onClick={show}>
              {tn("count.new", fresh.length)}
            </Button>
          )}
          {open.length === 0 && fresh.length === 0 && <Text fw={600}>{t("approvals.empty")}</Text>}
          {listed.map((plan) => (
            <Link
              key={plan.id}
              to="/approvals"
              search={{ plan: plan.id }}
              className={classes.entry}
              data-done={!open.includes(plan)}
              aria-current={plan.id === shown}
              onClick={() => void client.invalidateQueries({ queryKey: planQuery(plan.id).queryKey })}
            >
              <strong>{who(plan.requester, plan.requester_name, plan.agent)}</strong>
              <span>{shortened(plan.canonical_sentence ?? plan.words ?? plan.id, 90)}</span>
              <span className={classes.second}>{open.includes(plan) ? <Time value={plan.created} /> : t("approvals.gone")}</span>
            </Link>
          ))}
        </nav>
        {shown !== undefined && <One key={shown} id={shown} plan={listed.find(({ id }) => id === shown)} />}
      </div>
    </Page>
  );
}

function One({ id, plan }: { id: string; plan: Plan | undefined }) {
  const person = plan === undefined ? id : who(plan.requester, plan.requester_name);
  return (
    <article aria-label={t("approvals.one", { person })}>
      <Stack>
        <PlanSection plan={id} />
        <Link to="/plans/$plan" params={{ plan: id }}>
          {t("approvals.open")}
        </Link>
      </Stack>
    </article>
  );
}

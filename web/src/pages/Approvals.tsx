/** Plans of others that wait for this person's yes or no. */

import { useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { awaitingQuery, meQuery } from "../api/queries";
import { ApproverActions } from "../plan/ApproverActions";
import { PlanCard } from "../plan/PlanCard";
import { t } from "../i18n";
import { Empty, Page, Stack } from "../ui/basics";
import classes from "./Table.module.css";
import { who } from "../ui/who";
import { whyNot } from "../ui/permissions";

export function Approvals() {
  const { data: me } = useSuspenseQuery(meQuery);
  const { data: plans } = useSuspenseQuery(awaitingQuery);
  const denied = whyNot(me, "approve");
  return (
    <Page title={t("nav.approvals")} lead={t("approvals.lead")}>
      {plans.length === 0 && <Empty title={denied ?? t("approvals.empty")}>{denied === null ? t("approvals.empty.detail") : undefined}</Empty>}
      {plans.map((plan) => (
        <article key={plan.id} aria-label={t("approvals.one", { person: who(plan.requester, plan.requester_name) })}>
          <Stack>
            <PlanCard plan={plan} />
            <ApproverActions plan={plan} />
            <Link to="/plans/$plan" params={{ plan: plan.id }} className={classes.link}>
              {t("approvals.open")}
            </Link>
          </Stack>
        </article>
      ))}
    </Page>
  );
}

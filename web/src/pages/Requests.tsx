/** Everything that this person has asked for, with what it waits for: a request that waits is never lost. */

import { Button, Table } from "@mantine/core";
import { useSuspenseInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { myPlansQuery } from "../api/queries";
import type { Plan } from "../api/schema";
import { shortened } from "../format/path";
import { visible } from "../format/text";
import { t } from "../i18n";
import { Empty, Page, Time } from "../ui/basics";
import { Prose } from "../ui/Prose";
import { DecisionBadge, PlanBadge } from "../ui/state";
import classes from "./Table.module.css";

export function Requests() {
  const list = useSuspenseInfiniteQuery(myPlansQuery);
  const plans = list.data.pages.flat();
  return (
    <Page title={t("nav.requests")} lead={t("requests.lead")}>
      {plans.length === 0 ? (
        <Empty title={t("requests.empty")}>{t("requests.empty.detail")}</Empty>
      ) : (
        <div className={classes.scroll} tabIndex={0} role="region" aria-label={t("nav.requests")}>
          <Table className={`${classes.table ?? ""} ${classes.cards ?? ""}`} highlightOnHover>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t("requests.what")}</Table.Th>
                <Table.Th>{t("requests.state")}</Table.Th>
                <Table.Th>{t("requests.next")}</Table.Th>
                <Table.Th>{t("requests.made")}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {plans.map((plan) => (
                <Row key={plan.id} plan={plan} />
              ))}
            </Table.Tbody>
          </Table>
        </div>
      )}
      {list.hasNextPage && (
        <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {t("action.more")}
        </Button>
      )}
    </Page>
  );
}

function Row({ plan }: { plan: Plan }) {
  const { id, agent, decision, next_step: next, transfer } = plan;
  const waits = plan.state === "ready" && plan.state_reason === "" && transfer == null;
  const badge = waits && decision != null ? <DecisionBadge outcome={decision.outcome} /> : <PlanBadge plan={plan} />;
  return (
    <Table.Tr>
      <Table.Td className={classes.what}>
        <Link to="/plans/$plan" params={{ plan: id }} className={classes.link}>
          {shortened(plan.canonical_sentence ?? plan.words ?? id, 120)}
        </Link>
        <div className={classes.second}>
          <span className={classes.onDesk}>{id}</span>
          {agent != null && <> · {t("transfers.through", { agent: visible(agent) })}</>}
        </div>
      </Table.Td>
      <Table.Td>{badge}</Table.Td>
      <Table.Td className={classes.wide}>
        <Prose>{next.message}</Prose>
        {transfer != null && (
          <div>
            <Link to="/transfers/$transfer" params={{ transfer }}>
              {transfer}
            </Link>
          </div>
        )}
      </Table.Td>
      <Table.Td>
        <Time value={plan.created} />
      </Table.Td>
    </Table.Tr>
  );
}

/** Everything that this person has asked for, with what it waits for: a request that waits is never lost. */

import { Button, Table } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { isWhole, myPlansQuery } from "../api/queries";
import type { Plan } from "../api/schema";
import { shortened } from "../format/path";
import { visible } from "../format/text";
import { useZone } from "../format/time";
import { t } from "../i18n";
import { Filters } from "../ui/Filters";
import { Empty, Failure, Loading, Page, Recent } from "../ui/basics";
import { Prose } from "../ui/Prose";
import { DecisionBadge, PlanBadge } from "../ui/state";
import { useStaying } from "../ui/staying";
import classes from "../ui/Table.module.css";

const route = getRouteApi("/app/requests");

export function Requests() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const staying = useStaying();
  // The days of a filter are those of the zone that is chosen.
  useZone();
  const list = useInfiniteQuery(myPlansQuery(filter));
  const plans = list.data?.pages.flatMap((page) => page.items) ?? [];
  const all = isWhole(filter);
  return (
    <Page title={t("nav.requests")} lead={t("requests.lead")}>
      <search className={classes.filters}>
        <Filters
          filter={filter}
          placeholder={t("requests.find.placeholder")}
          go={(changed, typed) => {
            if (staying()) void navigate({ search: (old) => ({ ...old, ...changed }), replace: typed });
          }}
        />
      </search>
      {list.isPending && <Loading />}
      {list.isError && <Failure error={list.error} again={() => void list.refetch()} />}
      {list.isSuccess && plans.length === 0 && (
        <Empty title={t(all ? "requests.empty" : "requests.noMatch")}>{t(all ? "requests.empty.detail" : "requests.noMatch.detail")}</Empty>
      )}
      {plans.length > 0 && (
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
              {t("plan.transfer.open")}
            </Link>
          </div>
        )}
      </Table.Td>
      <Table.Td>
        <Recent value={plan.created} />
      </Table.Td>
    </Table.Tr>
  );
}

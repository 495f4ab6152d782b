/** What moves and what has moved. Filters are in the address. */

import { Button, Checkbox, NativeSelect, Table, Text } from "@mantine/core";
import { useInfiniteQuery, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { ENDED, TRANSFER_STATES, isWhole, meQuery, transferCountsQuery, transfersQuery } from "../api/queries";
import type { Transfer, TransferCounts, TransferState } from "../api/schema";
import { shortened } from "../format/path";
import { roughly, useZone } from "../format/time";
import { bytes, count, rate } from "../format/units";
import { t, tn } from "../i18n";
import { Arrived, arrival } from "../transfers/Arrived";
import { Filters } from "../ui/Filters";
import { Act, Empty, Failure, Loading, Name, Page, Recent } from "../ui/basics";
import { whyNot } from "../ui/permissions";
import { Prose } from "../ui/Prose";
import { who } from "../ui/who";
import { DeadlineBadge, TransferBadge } from "../ui/state";
import { useStaying } from "../ui/staying";
import classes from "../ui/Table.module.css";

const route = getRouteApi("/app/transfers");
// What is done with several at once is loaded when some are chosen.
const Bulk = lazy(async () => ({ default: (await import("../transfers/Bulk")).Bulk }));

export function Transfers() {
  const { state, ...filter } = route.useSearch();
  // The days of a filter are those of the zone that is chosen.
  useZone();
  const navigate = route.useNavigate();
  const staying = useStaying();
  const { data: me } = useSuspenseQuery(meQuery);
  const list = useInfiniteQuery(transfersQuery({ state, ...filter }));
  const { data: counts } = useQuery(transferCountsQuery(filter));
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const shown = list.data?.pages.flatMap((page) => page.items) ?? [];
  const all = state === undefined && isWhole(filter);
  const ids = shown.map(({ id }) => id);
  const picked = shown.filter(({ id }) => chosen.has(id));
  // It stays when none is chosen any more: it tells what some of them answered.
  const [bulk, setBulk] = useState(false);
  if (!bulk && picked.length > 0) setBulk(true);
  const [last, setLast] = useState<string | null>(null);
  /** One, or with the shift key all from the last one that was clicked. */
  const toggle = (id: string, range: boolean) => {
    const [from, to] = [ids.indexOf(last ?? ""), ids.indexOf(id)];
    const run = range && from >= 0 && to >= 0 ? ids.slice(Math.min(from, to), Math.max(from, to) + 1) : [id];
    const next = new Set(chosen);
    for (const one of run) {
      if (chosen.has(id)) next.delete(one);
      else next.add(one);
    }
    setChosen(next);
    setLast(id);
  };
  return (
    <Page
      title={t("nav.transfers")}
      actions={
        <Act blocked={whyNot(me, "plan")} onClick={() => void navigate({ to: "/new" })}>
          {t("nav.new")}
        </Act>
      }
    >
      <search className={classes.filters}>
        <NativeSelect
          label={t("transfers.state")}
          value={state ?? ""}
          data={[
            { value: "", label: t("transfers.state.all") },
            ...TRANSFER_STATES.map((value) => ({
              value,
              label: t("transfers.state.count", { state: t(`transfer.state.${value}`), n: count(counts?.by_state[value] ?? 0) }),
            })),
          ]}
          onChange={(event) => {
            const next = TRANSFER_STATES.find((one) => one === event.currentTarget.value);
            void navigate({ search: (old) => ({ ...old, state: next }) });
          }}
        />
        <Filters
          filter={filter}
          placeholder={t("transfers.find.placeholder")}
          go={(changed, typed) => {
            if (staying()) void navigate({ search: (old) => ({ ...old, ...changed }), replace: typed });
          }}
        />
        <Text c="dimmed" size="sm" aria-live="polite">
          {counts !== undefined && howMany(counts, state)}
        </Text>
      </search>
      {bulk && (
        <Suspense fallback={null}>
          <Bulk transfers={picked} keep={(ids) => setChosen(new Set(ids))} />
        </Suspense>
      )}
      {list.isPending && <Loading />}
      {list.isError && <Failure error={list.error} again={() => void list.refetch()} />}
      {list.isSuccess && shown.length === 0 && (
        <Empty title={all ? t("transfers.empty") : t("transfers.noMatch")}>{all ? t("transfers.empty.detail") : t("transfers.noMatch.detail")}</Empty>
      )}
      {shown.length > 0 && (
        <div className={classes.scroll} tabIndex={0} role="region" aria-label={t("nav.transfers")}>
          <Table className={`${classes.table ?? ""} ${classes.cards ?? ""}`} highlightOnHover>
            <Table.Thead>
              <Table.Tr>
                <Table.Th className={classes.tight}>
                  <Checkbox
                    size="xs"
                    aria-label={t("transfers.pick.all")}
                    checked={picked.length === ids.length}
                    indeterminate={picked.length > 0 && picked.length < ids.length}
                    onChange={(event) => setChosen(new Set(event.currentTarget.checked ? ids : []))}
                  />
                </Table.Th>
                <Table.Th>{t("transfers.what")}</Table.Th>
                <Table.Th>{t("transfers.state")}</Table.Th>
                <Table.Th>{t("transfers.progress")}</Table.Th>
                <Table.Th>{t("transfers.who")}</Table.Th>
                <Table.Th>{t("transfers.asked")}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {shown.map((transfer) => (
                <Row key={transfer.id} transfer={transfer} chosen={chosen.has(transfer.id)} toggle={toggle} />
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

function howMany({ total, exact, by_state: states }: TransferCounts, state: TransferState | undefined): string {
  if (state !== undefined) return tn("count.transfers", states[state] ?? 0);
  return exact ? tn("count.transfers", total) : t("transfers.atLeast", { n: count(total) });
}

/** A range, as nobody knows it to the second. */
function between({ eta_s: likely, eta_low_s: low, eta_high_s: high }: Transfer["progress"]): string {
  return t("transfers.left", { low: roughly(low ?? likely ?? 0), high: roughly(high ?? likely ?? 0) });
}

function Row({ transfer, chosen, toggle }: { transfer: Transfer; chosen: boolean; toggle: (id: string, range: boolean) => void }) {
  const { id, action, source, destination, state, state_reason: reason, progress, requester, requester_name: name, agent, created } = transfer;
  return (
    <Table.Tr>
      <Table.Td className={classes.tight}>
        <Checkbox size="xs" aria-label={t("transfers.pick.what", { id })} checked={chosen} onChange={({ nativeEvent: click }) => toggle(id, click instanceof MouseEvent && click.shiftKey)} />
      </Table.Td>
      <Table.Td className={classes.what}>
        <Link to="/transfers/$transfer" params={{ transfer: id }} className={classes.link}>
          {transfer.probe ? t("transfer.probe") : t(`action.name.${action === "move" || action === "sync" ? action : "copy"}`)} {shortened(source, 48)}
        </Link>
        <div className={classes.second}>
          → <Name>{shortened(destination, 60)}</Name>
        </div>
        <div className={`${classes.second ?? ""} ${classes.onDesk ?? ""}`}>{id}</div>
      </Table.Td>
      <Table.Td>
        <TransferBadge state={state} /> <DeadlineBadge transfer={transfer} />
        {!ENDED.has(state) && reason !== "" && (
          <div className={classes.second}>
            <Prose>{reason}</Prose>
          </div>
        )}
      </Table.Td>
      <Table.Td className={classes.progress}>
        {transfer.probe ? (
          t("transfers.probe")
        ) : (
          <>
            <Arrived transfer={transfer} label={t("transfers.progress.of", { id })} size="sm" />
            <div className={classes.second}>
              {arrival(transfer).safe} % · {bytes(progress.bytes_durable)} · {tn("count.files", progress.files_done)}
              {progress.files_failed > 0 && <> · {t("transfers.failed", { n: count(progress.files_failed) })}</>}
              {state === "running" && <> · {rate(progress.rate_bps)}</>}
              {state === "running" && progress.deletes_total > 0 && <> · {t("transfers.deleted", { done: count(progress.deleted), total: count(progress.deletes_total) })}</>}
              {state === "running" && progress.eta_s != null && <> · {between(progress)}</>}
            </div>
          </>
        )}
      </Table.Td>
      <Table.Td>
        {who(requester, name, agent)}
      </Table.Td>
      <Table.Td>
        <Recent value={created} />
      </Table.Td>
    </Table.Tr>
  );
}

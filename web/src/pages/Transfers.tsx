/** What moves and what has moved. Filters are in the address. */

import { Button, Checkbox, NativeSelect, Progress, Table, Text, TextInput } from "@mantine/core";
import { useSuspenseInfiniteQuery, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { ENDED, meQuery, transfersQuery } from "../api/queries";
import type { Transfer } from "../api/schema";
import { shortened } from "../format/path";
import { duration } from "../format/time";
import { bytes, count, percent, rate, share } from "../format/units";
import { t, tn } from "../i18n";
import { TRANSFER_STATES } from "../router";
import { Bulk } from "../transfers/Bulk";
import { Act, Empty, Name, Page, Time } from "../ui/basics";
import { whyNot } from "../ui/permissions";
import { who } from "../ui/who";
import { TransferBadge } from "../ui/state";
import classes from "./Table.module.css";

const route = getRouteApi("/app/transfers");

export function Transfers() {
  const { state, find = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: me } = useSuspenseQuery(meQuery);
  const list = useSuspenseInfiniteQuery(transfersQuery(state));
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const all = list.data.pages.flat();
  const wanted = find.toLowerCase();
  const shown = all.filter(({ id, source, destination, requester, requester_name: name }) =>
    [id, source, destination, name ?? requester].some((field) => field.toLowerCase().includes(wanted)),
  );
  const open = shown.filter(({ state }) => !ENDED.has(state)).map(({ id }) => id);
  const picked = shown.filter(({ id }) => chosen.has(id));
  const [last, setLast] = useState<string | null>(null);
  /** One, or with the shift key all from the last one that was clicked. */
  const toggle = (id: string, range: boolean) => {
    const [from, to] = [open.indexOf(last ?? ""), open.indexOf(id)];
    const run = range && from >= 0 && to >= 0 ? open.slice(Math.min(from, to), Math.max(from, to) + 1) : [id];
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
          data={[{ value: "", label: t("transfers.state.all") }, ...TRANSFER_STATES.map((value) => ({ value, label: t(`transfer.state.${value}`) }))]}
          onChange={(event) => {
            const next = TRANSFER_STATES.find((one) => one === event.currentTarget.value);
            void navigate({ search: (old) => ({ ...old, state: next }) });
          }}
        />
        <TextInput
          label={t("transfers.find")}
          placeholder={t("transfers.find.placeholder")}
          value={find}
          onChange={(event) => {
            const next = event.currentTarget.value || undefined;
            void navigate({ search: (old) => ({ ...old, find: next }), replace: true });
          }}
        />
        <Text c="dimmed" size="sm" aria-live="polite">
          {tn("count.transfers", shown.length)}
        </Text>
      </search>
      <Bulk transfers={picked} keep={(ids) => setChosen(new Set(ids))} />
      {shown.length === 0 ? (
        <Empty title={all.length === 0 && state === undefined ? t("transfers.empty") : t("transfers.noMatch")}>
          {all.length === 0 && state === undefined ? t("transfers.empty.detail") : t("transfers.noMatch.detail")}
        </Empty>
      ) : (
        <div className={classes.scroll} tabIndex={0} role="region" aria-label={t("nav.transfers")}>
          <Table className={classes.table} highlightOnHover>
            <Table.Thead>
              <Table.Tr>
                <Table.Th className={classes.tight}>
                  <Checkbox
                    size="xs"
                    aria-label={t("transfers.pick.all")}
                    checked={picked.length > 0 && picked.length === open.length}
                    indeterminate={picked.length > 0 && picked.length < open.length}
                    disabled={open.length === 0}
                    onChange={(event) => setChosen(new Set(event.currentTarget.checked ? open : []))}
                  />
                </Table.Th>
                <Table.Th>{t("transfers.what")}</Table.Th>
                <Table.Th className={classes.onDesk}>{t("transfers.state")}</Table.Th>
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

function Row({ transfer, chosen, toggle }: { transfer: Transfer; chosen: boolean; toggle: (id: string, range: boolean) => void }) {
  const { id, action, source, destination, state, progress, requester, requester_name: name, agent, created } = transfer;
  return (
    <Table.Tr>
      <Table.Td className={classes.tight}>
        <Checkbox size="xs" aria-label={t("transfers.pick.what", { id })} checked={chosen} disabled={ENDED.has(state)} onChange={({ nativeEvent: click }) => toggle(id, click instanceof MouseEvent && click.shiftKey)} />
      </Table.Td>
      <Table.Td className={classes.what}>
        <Link to="/transfers/$transfer" params={{ transfer: id }} className={classes.link}>
          {t(`action.name.${action === "move" || action === "sync" ? action : "copy"}`)} {shortened(source, 48)}
        </Link>
        <div className={classes.second}>
          → <Name>{shortened(destination, 60)}</Name>
        </div>
        <div className={classes.second}>{id}</div>
        <div className={classes.onPhone}>
          <TransferBadge state={state} />
        </div>
      </Table.Td>
      <Table.Td className={classes.onDesk}>
        <TransferBadge state={state} />
      </Table.Td>
      <Table.Td className={classes.progress}>
        <Progress.Root size="sm">
          <Progress.Section value={share(progress.bytes_durable, progress.bytes_total)} aria-label={t("transfers.progress.of", { id })} />
        </Progress.Root>
        <div className={classes.second}>
          {percent(progress.bytes_durable, progress.bytes_total)} · {bytes(progress.bytes_durable)} · {tn("count.files", progress.files_done)}
          {progress.files_failed > 0 && <> · {t("transfers.failed", { n: count(progress.files_failed) })}</>}
          {state === "running" && <> · {rate(progress.rate_bps)}</>}
          {state === "running" && progress.eta_s != null && <> · {t("transfers.left", { time: duration(progress.eta_s) })}</>}
        </div>
      </Table.Td>
      <Table.Td>
        {who(requester, name, agent)}
      </Table.Td>
      <Table.Td>
        <Time value={created} />
      </Table.Td>
    </Table.Tr>
  );
}

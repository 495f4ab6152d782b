/** The audit chain: everything that was asked, decided and done, in order, and whether the chain is whole. */

import { Alert, Badge, Button, Table, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useMutation, useSuspenseInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { IconAlertTriangle, IconShieldCheck } from "@tabler/icons-react";
import { answer, api } from "../api/client";
import { auditQuery } from "../api/queries";
import type { AuditEvent } from "../api/schema";
import { shortId } from "../format/path";
import { visible } from "../format/text";
import { count } from "../format/units";
import { t, tn } from "../i18n";
import { Listing } from "../ui/Listing";
import { Empty, Failure, Page, Time } from "../ui/basics";
import { useStaying } from "../ui/staying";
import { who } from "../ui/who";
import classes from "../ui/Table.module.css";

const route = getRouteApi("/app/audit");

export function Audit() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const staying = useStaying();
  const events = useSuspenseInfiniteQuery(auditQuery(filter));
  const verify = useMutation({ mutationFn: () => answer(api.GET("/api/v1/audit/verify")) });
  const set = useDebouncedCallback((part: { kind?: string; person?: string }) => {
    if (staying()) void navigate({ search: (old) => ({ ...old, ...part }), replace: true });
  }, 300);
  const shown = events.data.pages.flatMap((page) => page.items);
  return (
    <Page
      title={t("nav.audit")}
      lead={t("audit.lead")}
      actions={
        <Button variant="default" loading={verify.isPending} onClick={() => verify.mutate()}>
          {t("audit.verify")}
        </Button>
      }
    >
      {verify.isError && <Failure error={verify.error} />}
      {verify.data !== undefined && (
        <Alert
          role="status"
          color={verify.data.intact ? "green" : "red"}
          icon={verify.data.intact ? <IconShieldCheck aria-hidden /> : <IconAlertTriangle aria-hidden />}
          title={
            verify.data.intact
              ? t("audit.intact", { events: tn("count.events", verify.data.events) })
              : t("audit.broken", { at: count(verify.data.broken_at ?? 0) })
          }
        >
          {visible(verify.data.detail)} {t("audit.head")} <span className={classes.mono}>{verify.data.head}</span>
        </Alert>
      )}
      <search className={classes.filters}>
        <TextInput
          label={t("audit.kind")}
          placeholder={t("audit.kind.placeholder")}
          defaultValue={filter.kind ?? ""}
          onChange={(event) => set({ kind: event.currentTarget.value || undefined })}
        />
        <TextInput
          label={t("audit.person")}
          placeholder={t("audit.person.placeholder")}
          defaultValue={filter.person ?? ""}
          onChange={(event) => set({ person: event.currentTarget.value || undefined })}
        />
      </search>
      {shown.length === 0 ? <Empty title={t("audit.empty")}>{t("audit.empty.detail")}</Empty> : <Chain events={shown} />}
      {events.hasNextPage && (
        <Button variant="default" loading={events.isFetchingNextPage} onClick={() => void events.fetchNextPage()}>
          {t("action.more")}
        </Button>
      )}
    </Page>
  );
}

function Chain({ events }: { events: readonly AuditEvent[] }) {
  return (
    <Listing
      label={t("nav.audit")}
      heads={[t("audit.sequence"), t("events.time"), t("audit.kind"), t("audit.person"), t("audit.subject"), t("audit.detail")]}
    >
      {events.map((event) => (
        <Row key={event.sequence} event={event} />
      ))}
    </Listing>
  );
}

function Row({ event: { sequence, at, kind, person, person_name: name, agent, door, subject, detail, hash } }: { event: AuditEvent }) {
  return (
    <Table.Tr>
      <Table.Td title={hash}>{count(sequence)}</Table.Td>
      <Table.Td>
        <Time value={at} />
      </Table.Td>
      <Table.Td>
        <Badge color="gray">{kind}</Badge>
      </Table.Td>
      <Table.Td className={classes.person}>
        {person == null ? t("audit.nobody") : who(person, name)}
        <div className={classes.second}>
          {[door, agent == null ? null : t("transfers.through", { agent })].filter((part) => part != null).map(visible).join(", ")}
        </div>
      </Table.Td>
      <Table.Td>{subject == null || subject === "" ? t("value.none") : <Subject id={subject} />}</Table.Td>
      <Table.Td className={classes.wide}>
        <div className={classes.details}>
          {Object.entries(detail).map(([field, value]) => (
            <span key={field} title={visible(value)}>
              <span className={classes.second}>{visible(field)}</span> {visible(shortId(value))}
            </span>
          ))}
        </div>
      </Table.Td>
    </Table.Tr>
  );
}

/** What an event is about; transfers and plans have pages of their own. */
function Subject({ id }: { id: string }) {
  const shown = visible(shortId(id));
  if (id.startsWith("tr_")) {
    return (
      <Link to="/transfers/$transfer" params={{ transfer: id }} className={classes.id} title={id} preload={false}>
        {shown}
      </Link>
    );
  }
  if (id.startsWith("pl_")) {
    return (
      <Link to="/plans/$plan" params={{ plan: id }} className={classes.id} title={id} preload={false}>
        {shown}
      </Link>
    );
  }
  return (
    <span className={classes.id} title={visible(id)}>
      {shown}
    </span>
  );
}

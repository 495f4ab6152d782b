/** The site's policy: its versions, what changed, a new text, and which is in force. */

import { Button, Table } from "@mantine/core";
import { useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { meQuery, policiesQuery } from "../api/queries";
import type { PolicyVersion } from "../api/schema";
import { visible } from "../format/text";
import { t } from "../i18n";
import { Examples } from "../policies/Examples";
import { Propose } from "../policies/Propose";
import { Publish } from "../policies/Publish";
import { Listing } from "../ui/Listing";
import { Act, Card, Empty, Loading, Page, Time } from "../ui/basics";
import { whyNot } from "../ui/permissions";
import { who } from "../ui/who";
import { PolicyBadge } from "../ui/state";
import classes from "../ui/Table.module.css";

const Editor = lazy(() => import("../policies/Editor"));
const route = getRouteApi("/app/policies");

export function Policies() {
  const { version, edit } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: me } = useSuspenseQuery(meQuery);
  const { data: versions } = useSuspenseQuery(policiesQuery);
  const active = versions.find(({ state }) => state === "active");
  const shown = versions.find((one) => one.version === version) ?? active ?? versions[0];
  return (
    <Page
      title={t("nav.policies")}
      lead={t("policies.lead")}
      actions={
        <Act blocked={whyNot(me, "policy")} onClick={() => void navigate({ search: { version: shown?.version, edit: true } })}>
          {t("policies.edit")}
        </Act>
      }
    >
      {edit === true && (
        <Propose
          key={shown?.version}
          base={shown}
          active={active}
          done={(made) => void navigate({ search: { version: made }, ignoreBlocker: true })}
          close={() => void navigate({ search: { version } })}
        />
      )}
      {versions.length === 0 ? <Empty title={t("policies.empty")}>{t("policies.empty.detail")}</Empty> : <History versions={versions} shown={shown} />}
      {shown !== undefined && edit !== true && <Version version={shown} active={active} />}
    </Page>
  );
}

function History({ versions, shown }: { versions: readonly PolicyVersion[]; shown: PolicyVersion | undefined }) {
  return (
    <Listing
      label={t("policies.history")}
      heads={[t("policies.version"), t("transfers.state"), t("policies.note"), t("policies.author"), t("policies.publisher"), t("policies.created")]}
    >
      {versions.map(({ version, state, note, author, author_name: name, publisher, publisher_name: publisherName, created }) => (
        <Table.Tr key={version} aria-current={version === shown?.version}>
          <Table.Td className={classes.mono}>
            <Link to="/policies" search={{ version }} className={classes.link}>
              {version.slice(0, 12)}
            </Link>
          </Table.Td>
          <Table.Td>
            <PolicyBadge state={state} />
          </Table.Td>
          <Table.Td className={classes.wide}>{visible(note) || t("value.none")}</Table.Td>
          <Table.Td>{who(author, name)}</Table.Td>
          <Table.Td>{publisher == null ? t("value.none") : who(publisher, publisherName)}</Table.Td>
          <Table.Td>
            <Time value={created} />
          </Table.Td>
        </Table.Tr>
      ))}
    </Listing>
  );
}

function Version({ version, active }: { version: PolicyVersion; active: PolicyVersion | undefined }) {
  const { version: id, text, state } = version;
  const compared = active !== undefined && active.version !== id;
  return (
    <Card
      title={compared ? t("policies.diff", { version: id.slice(0, 12) }) : t("policies.text", { version: id.slice(0, 12) })}
      actions={state !== "active" && <Publish key={id} version={version} active={active} />}
    >
      <Suspense fallback={<Loading />}>
        <Editor key={id} label={t("policies.textOf", { version: id.slice(0, 12) })} text={text} before={compared ? active.text : undefined} />
      </Suspense>
      <details>
        <summary>{t("examples.title")}</summary>
        <Examples text={text} />
      </details>
      {compared && (
        <div>
          <Button variant="subtle" component="a" href={`data:text/plain;charset=utf-8,${encodeURIComponent(text)}`} download={`${id.slice(0, 12)}.cedar`}>
            {t("policies.download")}
          </Button>
        </div>
      )}
    </Card>
  );
}

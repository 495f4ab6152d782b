/** The versions of a text that two people put in force: their list, and one of them against the one in force. */

import { Button, Table } from "@mantine/core";
import { lazy, Suspense, type ReactNode } from "react";
import type { PolicyVersion } from "../api/schema";
import { visible } from "../format/text";
import { t } from "../i18n";
import type { Language } from "../policies/Editor";
import { Listing } from "../ui/Listing";
import { Card, Loading, Time } from "../ui/basics";
import { PolicyBadge } from "../ui/state";
import { who } from "../ui/who";
import classes from "../ui/Table.module.css";

const Editor = lazy(() => import("../policies/Editor"));

interface HistoryProps {
  versions: readonly PolicyVersion[];
  shown: PolicyVersion | undefined;
  /** The link to a version. */
  link: (version: string, label: string) => ReactNode;
  part?: boolean;
}

export function History({ versions, shown, link, part = false }: HistoryProps) {
  return (
    <Listing
      part={part}
      label={t("policies.history")}
      heads={[t("policies.version"), t("transfers.state"), t("policies.note"), t("policies.author"), t("policies.publisher"), t("policies.created")]}
    >
      {versions.map(({ version, state, note, author, author_name: name, publisher, publisher_name: publisherName, created }) => (
        <Table.Tr key={version} aria-current={version === shown?.version}>
          <Table.Td className={classes.mono}>{link(version, version.slice(0, 12))}</Table.Td>
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

interface VersionProps {
  version: PolicyVersion;
  active: PolicyVersion | undefined;
  language: Language;
  publish: ReactNode;
  children?: ReactNode;
}

/** A version's text; of one that is not in force, what it would change. */
export function Version({ version, active, language, publish, children }: VersionProps) {
  const { version: id, text, state } = version;
  const compared = active !== undefined && active.version !== id;
  return (
    <Card
      title={compared ? t("policies.diff", { version: id.slice(0, 12) }) : t("policies.text", { version: id.slice(0, 12) })}
      actions={state !== "active" && publish}
    >
      <Suspense fallback={<Loading />}>
        <Editor key={id} label={t("policies.textOf", { version: id.slice(0, 12) })} language={language} text={text} before={compared ? active.text : undefined} />
      </Suspense>
      {children}
      {compared && (
        <div>
          <Button variant="subtle" component="a" href={`data:text/plain;charset=utf-8,${encodeURIComponent(text)}`} download={`${id.slice(0, 12)}.${language}`}>
            {t("policies.download")}
          </Button>
        </div>
      )}
    </Card>
  );
}

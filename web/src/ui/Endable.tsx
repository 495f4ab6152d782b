/** Rows of what somebody has, each of which can be ended after a question: sessions, tokens, identities. */

import { Table } from "@mantine/core";
import type { QueryKey } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { t } from "../i18n";
import { Reasoned } from "../transfers/Reasoned";
import { useAsked } from "./asked";
import { Act, Card, Empty } from "./basics";
import { Listing } from "./Listing";

interface Props<T> {
  title: string;
  rows: readonly T[];
  idOf: (one: T) => string;
  columns: readonly (readonly [head: string, cell: (one: T) => ReactNode])[];
  words: { verb: string; ask: (ended: readonly T[]) => string; detail: string; told: string };
  end: (one: T) => Promise<unknown>;
  /** What is read anew afterwards. */
  changes: readonly QueryKey[];
  /** Whether a row has no button. */
  stays?: (one: T) => boolean;
  /** One button for several rows. */
  several?: { verb: string; none: string; rows: readonly T[] };
  empty: string;
  blocked?: string | null;
}

export function Endable<T>({ title, rows, idOf, columns, words, end, changes, stays, several, empty, blocked = null }: Props<T>) {
  const ending = useAsked({
    act: async (ended: readonly T[]) => {
      for (const one of ended) await end(one);
    },
    told: () => words.told,
    changes,
  });
  return (
    <Card
      title={title}
      actions={
        several !== undefined && (
          <Act color="red" variant="outline" blocked={several.rows.length === 0 ? several.none : blocked} onClick={() => ending.ask(several.rows)}>
            {several.verb}
          </Act>
        )
      }
    >
      {rows.length === 0 ? (
        <Empty title={empty} />
      ) : (
        <Listing part label={title} heads={[...columns.map(([head]) => head), t("nodes.actions")]}>
          {rows.map((one) => (
            <Table.Tr key={idOf(one)}>
              {columns.map(([head, cell]) => (
                <Table.Td key={head}>{cell(one)}</Table.Td>
              ))}
              <Table.Td>
                {stays?.(one) !== true && (
                  <Act color="red" variant="outline" size="compact-xs" blocked={blocked} onClick={() => ending.ask([one])}>
                    {words.verb}
                  </Act>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Listing>
      )}
      {ending.one !== null && <Reasoned title={words.ask(ending.one)} detail={words.detail} verb={words.verb} reason="none" {...ending.dialog} />}
    </Card>
  );
}

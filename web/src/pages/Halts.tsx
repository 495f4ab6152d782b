/** The kill switch: what is halted, by whom and why; halt something, release it. */

import { Table } from "@mantine/core";
import { useSuspenseQuery } from "@tanstack/react-query";
import { api, done } from "../api/client";
import { haltsQuery, healthQuery, meQuery } from "../api/queries";
import type { Halt } from "../api/schema";
import { visible } from "../format/text";
import { HaltSomething } from "../halts/HaltSomething";
import { t, tData } from "../i18n";
import { Reasoned } from "../transfers/Reasoned";
import { Listing } from "../ui/Listing";
import { useAsked } from "../ui/asked";
import { Act, Empty, Name, Page, Time } from "../ui/basics";
import { whyNot } from "../ui/permissions";

/** The halt that a file in the data folder makes. */
const FILE = "halt";

export function Halts() {
  const { data: me } = useSuspenseQuery(meQuery);
  const { data: halts } = useSuspenseQuery(haltsQuery);
  const blocked = whyNot(me, "halt");
  const ending = useAsked({
    act: ({ id }: Halt) => done(api.DELETE("/api/v1/site/halt/{halt}", { params: { path: { halt: id } } })),
    told: () => t("halts.released"),
    changes: [haltsQuery.queryKey, healthQuery.queryKey],
  });
  return (
    <Page title={t("nav.halts")} lead={t("halts.lead")} actions={<HaltSomething blocked={blocked} />}>
      {halts.length === 0 ? (
        <Empty title={t("halts.empty")}>{t("halts.empty.detail")}</Empty>
      ) : (
        <Listing label={t("nav.halts")} heads={[t("halts.what"), t("halts.why"), t("halts.by"), t("halts.since"), t("nodes.actions")]}>
          {halts.map((halt) => (
            <Table.Tr key={halt.id}>
              <Table.Td>
                <strong>{tData("halts.scope", halt.scope)}</strong> {halt.subject_name !== "" && <Name wrap>{halt.subject_name}</Name>}
              </Table.Td>
              <Table.Td>{visible(halt.reason)}</Table.Td>
              <Table.Td>{visible(halt.person_name ?? halt.person ?? "")}</Table.Td>
              <Table.Td>
                <Time value={halt.at} />
              </Table.Td>
              <Table.Td>
                <Act
                  variant="outline"
                  size="compact-xs"
                  blocked={blocked ?? (halt.id === FILE ? t("halts.isFile") : null)}
                  onClick={() => ending.ask(halt)}
                >
                  {t("halts.release")}
                </Act>
              </Table.Td>
            </Table.Tr>
          ))}
        </Listing>
      )}
      {ending.one !== null && (
        <Reasoned
          title={t("halts.release.one", { what: whatIs(ending.one) })}
          detail={t("halts.release.detail")}
          verb={t("halts.release")}
          danger={false}
          reason="none"
          {...ending.dialog}
        />
      )}
    </Page>
  );
}

function whatIs({ scope, subject_name: name }: Halt): string {
  return `${tData("halts.scope", scope)} ${visible(name)}`.trim();
}

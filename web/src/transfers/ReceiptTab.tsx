/** The signed proof, shown as it is and for taking away. */

import { Anchor, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { receiptQuery } from "../api/queries";
import type { Transfer } from "../api/schema";
import { visible } from "../format/text";
import { t } from "../i18n";
import { Card, Copyable, Empty, Facts, Failure, Loading, Time } from "../ui/basics";
import { Prose } from "../ui/Prose";
import { who } from "../ui/who";
import { keptRows, receiptRows } from "./receipt";
import classes from "./ReceiptTab.module.css";

export function ReceiptTab({ transfer }: { transfer: Transfer }) {
  if (transfer.receipt == null) return <Empty title={t("receipt.none")}>{t("receipt.none.detail")}</Empty>;
  return <Shown id={transfer.receipt} requester={who(transfer.requester, transfer.requester_name, transfer.agent)} />;
}

function Shown({ id, requester }: { id: string; requester: string }) {
  const receipt = useQuery(receiptQuery(id));
  if (receipt.isPending) return <Loading />;
  if (receipt.isError) return <Failure error={receipt.error} />;
  const { document, summary, created, key, key_replaced: replaced, plan_digest: digest, sources_kept: kept } = receipt.data;
  return (
    <Card title={t("receipt.title", { id })}>
      {summary !== "" && <Text><Prose>{summary}</Prose></Text>}
      <Facts
        rows={[[t("plan.created"), <Time key="created" value={created} />], [t("transfers.who"), requester], ...receiptRows(document), ...keptRows(kept)]}
      />
      <div>
        <Text size="xs" c="dimmed">
          {t("plan.digest")}
        </Text>
        <Copyable label={t("plan.digest")} text={digest} />
      </div>
      <Text>{t("receipt.verify")}</Text>
      <Copyable label={t("receipt.command")} text={`headrace receipt verify ${id}.json --list ${id}.files.jsonl${key === "" ? "" : ` --key ${key}`}`} />
      {replaced && <Text>{t("receipt.key.replaced")}</Text>}
      <div className={classes.links}>
        <Anchor href={`data:application/json;charset=utf-8,${encodeURIComponent(document)}`} download={`${id}.json`}>
          {t("receipt.download")}
        </Anchor>
        <Anchor href={`/api/v1/receipts/${encodeURIComponent(id)}/files`} download={`${id}.files.jsonl`}>
          {t("receipt.files")}
        </Anchor>
      </div>
      <details>
        <summary>{t("receipt.document")}</summary>
        <pre className={classes.document} tabIndex={0}>
          {visible(document)}
        </pre>
      </details>
    </Card>
  );
}

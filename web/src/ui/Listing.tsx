import { Table } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./Table.module.css";

/** A table with plain heads that scrolls by itself where it is wider than the page; `part`: one of several on a page. */
export function Listing({ label, heads, part = false, children }: { label: string; heads: string[]; part?: boolean; children: ReactNode }) {
  return (
    <div className={classes.scroll} tabIndex={0} role={part ? "group" : "region"} aria-label={label}>
      <Table className={classes.table}>
        <Table.Thead>
          <Table.Tr>
            {heads.map((head) => (
              <Table.Th key={head}>{head}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </div>
  );
}

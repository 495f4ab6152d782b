import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { fireEvent, render, screen } from "@testing-library/react";
import { useState } from "react";
import { expect, it } from "vitest";
import type { Endpoint } from "../api/schema";
import { known } from "../probe/asked";
import { EndpointSelect } from "./EndpointSelect";
import { likeQuery, type Known } from "./found";

const endpoint = (id: string, part: Partial<Endpoint> = {}): Endpoint => ({ id, aliases: [], kind: "posix", node: "n", root: id, access: "write", labels: {}, folder_labels: {}, version: "", online: true, ...part });

function Choice(places: Known) {
  const [value, choose] = useState("");
  return <EndpointSelect label="Source" value={value} known={places} choose={choose} />;
}

function show(places: Known, client = new QueryClient()) {
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <Choice {...places} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

const offered = () => screen.getAllByRole<HTMLOptionElement>("option").map(({ value }) => value);

it("where a page holds all endpoints, one is chosen from them, and none is searched for", () => {
  show({ endpoints: [endpoint("a"), endpoint("b")], more: false });
  expect(screen.queryByRole("textbox")).toBeNull();
  expect(offered()).toEqual(["", "a", "b"]);
});

it("where there are more, those that hold what is typed are offered, and what was chosen stays", async () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(likeQuery("zet").queryKey, { items: [endpoint("zeta")], next: null });
  client.setQueryData(likeQuery("al").queryKey, { items: [endpoint("alpha")], next: null });
  show({ endpoints: [endpoint("a"), endpoint("b")], more: true }, client);
  const find = screen.getByRole("textbox", { name: "Search: Source" });
  fireEvent.change(find, { target: { value: " zet " } });
  await screen.findByRole("option", { name: "zeta" });
  expect(offered()).toEqual(["", "zeta"]);
  fireEvent.change(screen.getByRole("combobox", { name: "Source" }), { target: { value: "zeta" } });
  fireEvent.change(find, { target: { value: "al" } });
  await screen.findByRole("option", { name: "alpha" });
  expect(offered()).toEqual(["", "zeta", "alpha"]);
  expect(screen.getByRole<HTMLSelectElement>("combobox", { name: "Source" }).value).toBe("zeta");
});

it("a name that an address holds may be of an endpoint that is not among the first", () => {
  const endpoints = [endpoint("a", { aliases: ["first"] })];
  expect(known("first", { endpoints, more: true })).toBe("a");
  expect(known("zeta", { endpoints, more: true })).toBe("zeta");
  expect(known("zeta", { endpoints, more: false })).toBe("");
  expect(known(undefined, { endpoints, more: true })).toBe("");
});

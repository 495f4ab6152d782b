import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { api } from "../api/client";
import { Guide } from "./Guide";
import { policyNeedsQuery } from "./needs";

const NEEDS = [
  { name: "no-writes", title: "Nobody writes to a place", asks: [{ name: "place", kind: "place" as const, question: "a place", example: "krios1:/raw" }] },
  { name: "assistants-copy", title: "Assistants only copy", asks: [] },
];

function show(add: (text: string) => void) {
  const client = new QueryClient();
  client.setQueryData(policyNeedsQuery.queryKey, NEEDS);
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <Guide text={"permit(principal, action, resource);\n"} add={add} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  fireEvent.click(screen.getByRole("button", { name: "Add a common rule" }));
}

function answers(contradicts: string[]) {
  return vi.spyOn(api, "POST").mockResolvedValue({ data: { text: "forbid(...);\n// example denied {}\n", rules: ["r"], contradicts, warnings: ["there is no endpoint `krios1`"] }, response: new Response() });
}

afterEach(() => vi.restoreAllMocks());

it("a rule that is made of the values goes behind the text, with its examples", async () => {
  const sent = answers(["// example allowed {}"]);
  const add = vi.fn();
  show(add);
  fireEvent.change(screen.getByRole("textbox", { name: /Place/ }), { target: { value: "krios1:/raw" } });
  fireEvent.click(screen.getByRole("button", { name: "Add to the text" }));
  await waitFor(() => expect(add).toHaveBeenCalledWith("permit(principal, action, resource);\n\nforbid(...);\n// example denied {}\n"));
  const text = "permit(principal, action, resource);\n";
  expect(sent).toHaveBeenCalledWith("/api/v1/policies/guide", { body: { need: "no-writes", values: { place: "krios1:/raw" }, text } });
  expect(screen.getByText("// example allowed {}")).toBeDefined();
  expect(screen.getByText("there is no endpoint `krios1`")).toBeDefined();
});

it("each need asks for its own values", () => {
  show(vi.fn());
  fireEvent.change(screen.getByRole("combobox"), { target: { value: "assistants-copy" } });
  expect(screen.queryByRole("textbox")).toBeNull();
});

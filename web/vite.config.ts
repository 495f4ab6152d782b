import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const COMPRESSIBLE = /\.(js|css|html|svg|wasm)$/;

/** Write `.br` and `.gz` beside every text asset, so that the service only has to pick one. */
function precompress(): Plugin {
  return {
    name: "precompress",
    apply: "build",
    async writeBundle({ dir = "dist" }) {
      const names = await readdir(dir, { recursive: true });
      await Promise.all(
        names.filter((name) => COMPRESSIBLE.test(name)).map(async (name) => {
          const path = join(dir, name);
          const plain = await readFile(path);
          const quality = plain.length > 1_000_000 ? 9 : 11;
          const params = { [constants.BROTLI_PARAM_QUALITY]: quality };
          await writeFile(`${path}.br`, await promisify(brotliCompress)(plain, { params }));
          await writeFile(`${path}.gz`, await promisify(gzip)(plain, { level: 9 }));
        }),
      );
    },
  };
}

export default defineConfig({
  plugins: [react(), precompress()],
  // A module worker and no inlined assets: the service's content security policy allows only files of its own origin.
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, manifest: true },
  worker: { format: "es" },
  test: { environment: "happy-dom", include: ["src/**/*.test.{ts,tsx}"], setupFiles: ["src/test-setup.ts"] },
  // The table of characters lies beside this folder: conformance/text.
  server: { fs: { allow: [".."] }, proxy: { "/api": process.env["HEADRACE_SERVICE"] ?? "http://127.0.0.1:8470" } },
});

import { type Query, request } from "../api/request.ts"
import { saveFile } from "./saveFile.ts"

/** Loads a resource as CSV and saves it as a file. */
export const downloadCsv = async (path: string, query: Query, fileName: string): Promise<void> => {
  const { value } = await request<string>("GET", path, { query, accept: "text/csv" })
  saveFile(value, "text/csv", fileName)
}

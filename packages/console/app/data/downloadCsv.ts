import { type Query, request } from "../api/request.ts"

/** Loads a resource as CSV and saves it as a file. */
export const downloadCsv = async (path: string, query: Query, fileName: string): Promise<void> => {
  const { value } = await request<string>("GET", path, { query, accept: "text/csv" })
  const url = URL.createObjectURL(new Blob([value], { type: "text/csv" }))
  const link = document.createElement("a")
  link.href = url
  link.download = fileName
  link.click()
  URL.revokeObjectURL(url)
}

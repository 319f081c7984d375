const folders = ["node_modules", ".git", ".hg", ".svn", "__MACOSX"]
const files = [".DS_Store", "Thumbs.db", "desktop.ini"]

/** Whether a file or folder of this name is left out: what tools and operating systems put beside the files of a site. */
export const isJunk = (name: string): boolean => folders.includes(name) || files.includes(name) || name.startsWith("._")

package dev.sluice.delta;

import io.delta.storage.CloseableIterator;
import io.delta.storage.LogStore;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.UUID;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A LogStore for {@code file:} paths that several drivers may use on one table.
 *
 * <p>Delta's own LogStore for {@code file:} asks whether the commit's file is there and then renames onto it. Only a
 * lock inside one JVM holds the two steps together, so of two drivers that commit the same version both succeed, and
 * the first one's commit is gone without an exception. Here a commit is a hard link: link(2) creates the name or
 * fails because it exists, whoever asks, in one step of the kernel.
 *
 * <p>Every driver that writes a table must use this class: beside Delta's own it protects nothing.
 */
public class LinkLogStore extends LogStore {

    private static final Logger LOG = LoggerFactory.getLogger(LinkLogStore.class);

    private static final Pattern UNFINISHED = Pattern.compile("\\.\\d{20}\\.json\\.[0-9a-f-]{36}\\.tmp");

    private static final Duration ABANDONED = Duration.ofDays(1);

    public LinkLogStore(Configuration initHadoopConf) {
        super(initHadoopConf);
    }

    /**
     * Reads the bytes as they are. Hadoop's local file system would hold them against a {@code .crc} file, which for
     * a file that was replaced by a rename can only be an older file's.
     */
    @Override
    public CloseableIterator<String> read(org.apache.hadoop.fs.Path path, Configuration hadoopConf)
            throws IOException {
        try {
            return new Lines(Files.newBufferedReader(local(path, hadoopConf), StandardCharsets.UTF_8));
        } catch (NoSuchFileException missing) {
            throw fileNotFound(missing);
        }
    }

    @Override
    public void write(
            org.apache.hadoop.fs.Path path, Iterator<String> actions, Boolean overwrite, Configuration hadoopConf)
            throws IOException {
        Path target = local(path, hadoopConf);
        if (!overwrite && Files.exists(target)) {
            throw new FileAlreadyExistsException(target.toString());
        }
        Path temporary = target.resolveSibling("." + target.getFileName() + "." + UUID.randomUUID() + ".tmp");
        try {
            writeDurably(temporary, actions);
            if (overwrite) {
                replace(temporary, target);
            } else {
                create(temporary, target);
            }
        } catch (NoSuchFileException missing) {
            throw fileNotFound(missing);
        } finally {
            discard(temporary);
        }
        syncFolder(target.getParent());
    }

    /**
     * Lists what Hadoop lists, in the order that Delta asks for, without hidden files: those are never the log's. What
     * dead drivers left of commits is deleted on the way.
     */
    @Override
    public Iterator<FileStatus> listFrom(org.apache.hadoop.fs.Path path, Configuration hadoopConf)
            throws IOException {
        FileStatus[] files = path.getFileSystem(hadoopConf).listStatus(path.getParent());
        discardAbandoned(files);
        return Arrays.stream(files)
                .filter(file -> !file.getPath().getName().startsWith("."))
                .filter(file -> file.getPath().getName().compareTo(path.getName()) >= 0)
                .sorted(Comparator.comparing(file -> file.getPath().getName()))
                .iterator();
    }

    @Override
    public org.apache.hadoop.fs.Path resolvePathOnPhysicalStorage(
            org.apache.hadoop.fs.Path path, Configuration hadoopConf) throws IOException {
        return path.getFileSystem(hadoopConf).makeQualified(path);
    }

    /**
     * True although no partial write of this class can be seen: Delta asks in order to know how to write checkpoints,
     * which don't pass through a LogStore. Told false, it would write them in place, where readers see half of one.
     */
    @Override
    public Boolean isPartialWriteVisible(org.apache.hadoop.fs.Path path, Configuration hadoopConf) {
        return true;
    }

    private Path local(org.apache.hadoop.fs.Path path, Configuration hadoopConf) throws IOException {
        org.apache.hadoop.fs.Path qualified = resolvePathOnPhysicalStorage(path, hadoopConf);
        if (!"file".equals(qualified.toUri().getScheme())) {
            throw new IOException(
                    "LinkLogStore commits by hard links and so serves file: paths only, not " + qualified
                            + ": set spark.delta.logStore.file.impl, and no other scheme, to it");
        }
        return Paths.get(qualified.toUri().getPath());
    }

    private static void writeDurably(Path file, Iterator<String> lines) throws IOException {
        try (FileChannel channel =
                        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
                BufferedWriter writer =
                        new BufferedWriter(Channels.newWriter(channel, StandardCharsets.UTF_8))) {
            while (lines.hasNext()) {
                writer.write(lines.next());
                writer.write('\n');
            }
            writer.flush();
            channel.force(true);
        }
    }

    private static void create(Path temporary, Path target) throws IOException {
        // The target isn't there (or the link will fail), so a checksum of that name belongs to a file long gone.
        if (!Files.exists(target)) {
            Files.deleteIfExists(checksumOf(target));
        }
        try {
            Files.createLink(target, temporary);
        } catch (FileAlreadyExistsException taken) {
            // A network file system may lose its answer and ask again: then the file that is there is our own.
            if (!Files.isSameFile(temporary, target)) {
                throw taken;
            }
        } catch (UnsupportedOperationException | FileSystemException refused) {
            if (refused instanceof NoSuchFileException) {
                throw (NoSuchFileException) refused;
            }
            throw new IOException(
                    "cannot commit " + target + " by a hard link (" + refused.getMessage() + "): if this file system"
                            + " has none, keep the table on one that has, or let one driver at a time write it with"
                            + " Delta's own LogStore",
                    refused);
        }
    }

    /** What stays behind is hidden, and harms nobody; an error here would tell of a commit that it had failed. */
    private static void discard(Path temporary) {
        try {
            Files.deleteIfExists(temporary);
        } catch (IOException failure) {
            LOG.warn("{} stays behind, and may be deleted: {}", temporary, failure.toString());
        }
    }

    /**
     * A driver that was killed in the middle of a commit leaves its hidden file. If one that is only very slow loses it,
     * its commit fails, and no other comes to harm.
     */
    private static void discardAbandoned(FileStatus[] files) {
        long before = System.currentTimeMillis() - ABANDONED.toMillis();
        Arrays.stream(files)
                .filter(file -> UNFINISHED.matcher(file.getPath().getName()).matches())
                .filter(file -> file.getModificationTime() < before)
                .forEach(file -> discard(Paths.get(file.getPath().toUri().getPath())));
    }

    /** Readers see the old file or the new one, never a part; a checksum of the old one would make Hadoop refuse it. */
    private static void replace(Path temporary, Path target) throws IOException {
        Files.deleteIfExists(checksumOf(target));
        Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private static Path checksumOf(Path target) {
        return target.resolveSibling("." + target.getFileName() + ".crc");
    }

    /** A new name is durable once its folder is: otherwise a power cut could take back a commit that was announced. */
    private static void syncFolder(Path folder) throws IOException {
        try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    /** Delta and Hadoop know a missing file by java.io's exception, java.nio throws another. */
    private static FileNotFoundException fileNotFound(NoSuchFileException missing) {
        FileNotFoundException translated = new FileNotFoundException(missing.getMessage());
        translated.initCause(missing);
        return translated;
    }

    private static final class Lines implements CloseableIterator<String> {
        private final BufferedReader reader;
        private String next;

        Lines(BufferedReader reader) throws IOException {
            this.reader = reader;
            this.next = reader.readLine();
        }

        @Override
        public boolean hasNext() {
            return next != null;
        }

        @Override
        public String next() {
            if (next == null) {
                throw new java.util.NoSuchElementException("the file has no more lines");
            }
            String line = next;
            try {
                next = reader.readLine();
            } catch (IOException failure) {
                throw new UncheckedIOException(failure);
            }
            return line;
        }

        @Override
        public void close() throws IOException {
            reader.close();
        }
    }
}

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/**
 * Hadoop's local files as Delta's HDFSLogStore uses them, but a file is held right before it is renamed, when Hadoop has looked for
 * the last time whether its new name is taken: until the pipe {@code sluice.test.pipe} ends. The file's name with {@code .held} says
 * that it is held.
 */
public class HeldRenames extends DelegateToFileSystem {

    public HeldRenames(URI uri, Configuration conf) throws IOException, URISyntaxException {
        super(uri, new Held(), conf, "file", false);
    }

    public static class Held extends RawLocalFileSystem {

        public boolean rename(Path from, Path to) throws IOException {
            InputStream pipe = new FileInputStream(getConf().get("sluice.test.pipe"));
            try {
                new File(from.toUri().getPath() + ".held").createNewFile();
                while (pipe.read() >= 0) {}
            } finally {
                pipe.close();
            }
            return super.rename(from, to);
        }
    }
}
